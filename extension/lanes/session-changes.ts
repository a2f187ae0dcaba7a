import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { inform } from '../messages.ts';
import { contentsUri } from './contents.ts';

/** More files than the multi-diff editor takes well: it reads all of them at once. */
const MAX_FILES = 300;

/**
 * Opens what a session changed since it left its base, uncommitted work included, in the multi-diff editor. True when
 * there was something.
 */
export async function openChanges(
  connection: Connection,
  session: Session,
  token: vscode.CancellationToken | undefined,
): Promise<boolean> {
  const { from, to, files } = await connection.request('Changes', { session: session.id }, { token });
  if (files.length === 0) {
    await inform(`${session.title} has changed nothing since it left ${session.base}.`);
    return false;
  }
  const shown = files.slice(0, MAX_FILES);
  const resources = shown.map(({ path, oldPath, status }) => {
    const right = status === 'deleted' ? undefined : contentsUri(session.id, path, to);
    const left = status === 'added' ? undefined : contentsUri(session.id, oldPath ?? path, from);
    return [contentsUri(session.id, path, to), left, right];
  });
  // VS Code adds how many they are.
  await vscode.commands.executeCommand('vscode.changes', session.title, resources);
  if (files.length > MAX_FILES) {
    await inform(`The first ${MAX_FILES} of ${files.length} changed files are shown.`);
  }
  return true;
}
