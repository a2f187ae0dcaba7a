import { isAbsolute, relative, resolve } from 'node:path';
import type * as vscode from 'vscode';
import type { Reason } from '../../sidecar/protocol/reason.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../connection/failure.ts';
import { editedText } from './edited-text.ts';
import type { TextDocuments } from './text-documents.ts';

/** What a tool would do, to be looked at: a document, or two sides of a diff. */
export interface Proposal {
  title: string;
  before: vscode.Uri | undefined;
  after: vscode.Uri;
}

interface Parts {
  connection: Pick<Connection, 'request'>;
  documents: Pick<TextDocuments, 'put'>;
}

type Input = Readonly<Record<string, unknown>>;
type Show = (parts: Parts, session: Session, input: Input) => Promise<Proposal | undefined>;

/**
 * Lines of an editor that the question in front of it covers, with as many choices as any has. Nothing can be scrolled
 * further down than its first line, so as many empty ones stand above what has to be seen.
 */
const COVERED = 5;
const ROOM = '\n'.repeat(COVERED);

/**
 * The tools whose input is better read in another way than as JSON, and the fields that this way shows. A tool that
 * another server offers may have fields of the same names and do something else with them.
 * Source: the inputs of Claude Code's own tools.
 */
const SHOWN: Readonly<Record<string, { fields: readonly string[]; show: Show }>> = {
  Write: { fields: ['file_path', 'content'], show: showEdit('Write') },
  Edit: { fields: ['file_path', 'old_string', 'new_string', 'replace_all'], show: showEdit('Edit') },
  MultiEdit: { fields: ['file_path', 'edits'], show: showEdit('MultiEdit') },
  Bash: { fields: ['command', 'description', 'timeout', 'run_in_background'], show: showCommand },
  ExitPlanMode: { fields: ['plan', 'planFilePath', 'allowedPrompts'], show: showPlan },
};

/**
 * The whole input of a tool: for an edit the file before and after it, for a shell command the command, for a plan the
 * plan. For any other tool, and where a field is left that these do not show, the input as JSON.
 */
export async function proposalOf(parts: Parts, session: Session, reason: Reason): Promise<Proposal> {
  const tool = reason.tool ?? 'Tool';
  const own = Object.hasOwn(SHOWN, tool) ? SHOWN[tool] : undefined;
  const input = own === undefined ? undefined : inputWith(own.fields, reason.input);
  const shown = input === undefined ? undefined : await own?.show(parts, session, input);
  if (shown !== undefined) return shown;
  const json = `${JSON.stringify(reason.input, null, 2)}\n`;
  return {
    title: tool,
    before: undefined,
    after: parts.documents.put(session.id, `${tool.replaceAll('/', ' ')}.json`, `${ROOM}${json}`),
  };
}

/** Undefined where the input has fields that would not be shown. */
function inputWith(fields: readonly string[], input: unknown): Input | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  return Object.keys(input).every((name) => fields.includes(name)) ? { ...input } : undefined;
}

/** What stands for the text of a file that was not read. Empty, it would look as if there was none. */
const NOT_READ = `This file was not read: it lies outside of the session's worktree, or is too large. It may hold anything.\n`;

function showEdit(tool: string): Show {
  return async ({ connection, documents }, session, input) => {
    const given = text(input.file_path);
    if (given === undefined) return undefined;
    const file = fullPath(session, given);
    const path = pathInWorktree(session, file);
    const current = path === undefined ? undefined : await currentText(connection, session, path);
    // What an edit leads to in a file that was not read cannot be told.
    if (current === undefined && tool !== 'Write') return undefined;
    const edited = editedText(current ?? undefined, input);
    if (edited === undefined) return undefined;
    const name = path ?? file;
    const bare = name.replace(/^\/+/, '');
    const state = current === undefined ? 'not read, ' : current === null ? 'new file, ' : '';
    const original = current === undefined ? NOT_READ : (current ?? '');
    // A change further down is scrolled to where nothing covers it.
    const room = commonLines(original, edited) < COVERED ? ROOM : '';
    return {
      title: `${name} (${tool}, ${state}not applied yet)`,
      before: documents.put(session.id, `before/${bare}`, `${room}${original}`),
      after: documents.put(session.id, `proposed/${bare}`, `${room}${edited}`),
    };
  };
}

/** How many lines two texts begin with in common. */
function commonLines(one: string, other: string): number {
  const others = other.split('\n');
  const lines = one.split('\n');
  const first = lines.findIndex((line, at) => line !== others[at]);
  return first === -1 ? lines.length : first;
}

async function showCommand(
  { documents }: Parts,
  session: Session,
  input: Input,
): Promise<Proposal | undefined> {
  const { command, description, ...rest } = input;
  if (typeof command !== 'string') return undefined;
  // Above the command: whatever that holds, nothing of it can pass for one of these.
  const others = Object.entries(rest).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const about = typeof description === 'string' ? description.split(LINE_END) : [];
  const head = [...about, ...others].map((line) => `# ${line}\n`).join('');
  return {
    title: 'Bash',
    before: undefined,
    after: documents.put(session.id, 'Bash.sh', `${ROOM}${head}${command}\n`),
  };
}

/** Whatever an editor draws as the end of a line. */
const LINE_END = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

async function showPlan({ documents }: Parts, session: Session, input: Input): Promise<Proposal | undefined> {
  const plan = text(input.plan);
  const alongs = allowedAlong(input.allowedPrompts);
  if (plan === undefined || alongs === undefined) return undefined;
  // Above the plan: whatever that holds, nothing of it can pass for one of these.
  const head = alongs.length === 0 ? '' : `Asked for along with the plan:\n\n${alongs.join('')}\n---\n\n`;
  return {
    title: 'Plan',
    before: undefined,
    after: documents.put(session.id, 'Plan.md', `${ROOM}${head}${plan}`),
  };
}

/** What a plan asks to be allowed, as items of a list; undefined where some of it could not be shown so. */
function allowedAlong(prompts: unknown): string[] | undefined {
  if (prompts === undefined) return [];
  if (!Array.isArray(prompts)) return undefined;
  const items = prompts.map((each: unknown) => {
    const { tool, prompt, ...rest }: Input = typeof each === 'object' && each !== null ? { ...each } : {};
    if (typeof tool !== 'string' || typeof prompt !== 'string' || Object.keys(rest).length > 0)
      return undefined;
    return `- ${[tool, prompt].join(': ').split(LINE_END).join(' ')}\n`;
  });
  const known = items.filter((item) => item !== undefined);
  return known.length === items.length ? known : undefined;
}

/** Absolute, but for one below a home: what `~` stands for is the agent's matter. */
function fullPath(session: Session, file: string): string {
  return file.startsWith('~') ? file : resolve(session.worktree, file);
}

/** Relative to the worktree; undefined for a file outside of it. */
function pathInWorktree(session: Session, file: string): string | undefined {
  if (!isAbsolute(file)) return undefined;
  const path = relative(session.worktree, file);
  const isOutside = path === '..' || path.startsWith('../') || isAbsolute(path);
  return path === '' || isOutside ? undefined : path;
}

/** Null where there is none; undefined where it cannot be read: it is too large, or lies behind a link to elsewhere. */
async function currentText(
  connection: Parts['connection'],
  session: Session,
  path: string,
): Promise<string | null | undefined> {
  try {
    const { content } = await connection.request('Contents', { session: session.id, path });
    return content === null ? null : Buffer.from(content, 'base64').toString('utf8');
  } catch (error) {
    if (failureOf(error).code === 'params.invalid') return undefined;
    throw error;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
