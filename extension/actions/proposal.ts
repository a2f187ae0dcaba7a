import { basename, isAbsolute, relative } from 'node:path';
import type * as vscode from 'vscode';
import type { Reason } from '../../sidecar/protocol/reason.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Context } from '../context.ts';
import { editedText } from './edited-text.ts';

/** What a tool would do, to be looked at: a document, or two sides of a diff. */
export interface Proposal {
  title: string;
  before: vscode.Uri | undefined;
  after: vscode.Uri;
}

/** For an edit the file before and after it; for a command the command; for anything else its input as JSON. */
export async function proposalOf(context: Context, session: Session, reason: Reason): Promise<Proposal> {
  const input = record(reason.input);
  const tool = reason.tool ?? 'Tool';
  const file = text(input.file_path) ?? text(input.notebook_path);
  if (file !== undefined) {
    const current = await currentText(context, session, file);
    const edited = editedText(current, input);
    if (edited !== undefined) {
      const name = basename(file);
      return {
        title: `${name} (${tool}, not applied yet)`,
        before: context.documents.put(session.id, `before/${name}`, current ?? ''),
        after: context.documents.put(session.id, `proposed/${name}`, edited),
      };
    }
  }
  const command = text(input.command);
  if (command !== undefined) {
    const about = text(input.description);
    const shown = about === undefined ? command : `# ${about.replaceAll('\n', '\n# ')}\n${command}`;
    return {
      title: tool,
      before: undefined,
      after: context.documents.put(session.id, `${tool}.sh`, `${shown}\n`),
    };
  }
  const plan = text(input.plan);
  if (plan !== undefined) {
    return { title: tool, before: undefined, after: context.documents.put(session.id, 'Plan.md', plan) };
  }
  const json = `${JSON.stringify(reason.input, null, 2)}\n`;
  return { title: tool, before: undefined, after: context.documents.put(session.id, `${tool}.json`, json) };
}

async function currentText(context: Context, session: Session, file: string): Promise<string | undefined> {
  const path = isAbsolute(file) ? relative(session.worktree, file) : file;
  if (path === '' || path.startsWith('..') || isAbsolute(path)) return undefined;
  const { content } = await context.connection.request('Contents', { session: session.id, path });
  return content === null ? undefined : Buffer.from(content, 'base64').toString('utf8');
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
