import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { nameOf, shortNameOf } from '../fleet/session-name.ts';
import { showInformation } from '../window/messages.ts';
import { contentsUri } from './contents.ts';

/** More files than the multi-diff editor takes well: it reads all of them at once. */
const MAX_FILES = 300;

/** The tab of each session's changes that was opened last: what it lists does not change any more. */
const tabs = new Map<string, vscode.Tab>();

/**
 * Opens what a session changed since it left its base, uncommitted work included, in the multi-diff editor, in the place
 * of what was opened for that session before.
 */
export async function openChanges(
  connection: Pick<Connection, 'request'>,
  session: Session,
  token: vscode.CancellationToken | undefined,
): Promise<void> {
  const { from, to, files } = await connection.request('Changes', { session: session.id }, { token });
  if (files.length === 0) {
    void showInformation(`Nothing has changed since ${session.base}: "${shortNameOf(session)}".`);
    return;
  }
  const shown = files.slice(0, MAX_FILES);
  const resources = shown.map(({ path, oldPath, status }) => {
    const right = status === 'deleted' ? undefined : contentsUri(session.id, path, to);
    const left = status === 'added' ? undefined : contentsUri(session.id, oldPath ?? path, from);
    return [contentsUri(session.id, path, to), left, right];
  });
  await closeEarlier(session.id);
  // VS Code adds how many they are.
  await vscode.commands.executeCommand('vscode.changes', nameOf(session), resources);
  const opened = vscode.window.tabGroups.activeTabGroup.activeTab;
  if (opened !== undefined) tabs.set(session.id, opened);
  if (files.length > MAX_FILES) {
    void showInformation(`The first ${MAX_FILES} of ${files.length} changed files are shown.`);
  }
}

async function closeEarlier(session: string): Promise<void> {
  const earlier = tabs.get(session);
  tabs.delete(session);
  const isOpen = vscode.window.tabGroups.all.some(({ tabs: open }) => open.some((tab) => tab === earlier));
  if (earlier !== undefined && isOpen) await vscode.window.tabGroups.close(earlier);
}
