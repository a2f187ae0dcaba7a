import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { nameOf, shortNameOf } from '../fleet/session-name.ts';
import { showInformation } from '../window/messages.ts';
import { contentsUri } from './contents.ts';

/** More files than the multi-diff editor takes well: it reads all of them at once. */
const MAX_FILES = 300;

/** What sessions have changed, each in a multi-diff editor of its own. */
export class SessionChanges {
  readonly #connection: Pick<Connection, 'request'>;
  /** The tab of each session that was opened last: what it lists does not change any more. */
  readonly #tabs = new Map<string, vscode.Tab>();
  /** What is being opened: pressed twice, a session has one tab all the same. */
  readonly #opening = new Map<string, Promise<void>>();

  constructor(connection: Pick<Connection, 'request'>) {
    this.#connection = connection;
  }

  /**
   * Opens what a session changed since it left its base, uncommitted work included, in the place of what was opened for
   * that session before.
   */
  open(session: Session, token: vscode.CancellationToken | undefined): Promise<void> {
    const before = this.#opening.get(session.id) ?? Promise.resolve();
    // What the one before has failed of was told to whoever asked for it.
    const opening = before.catch(() => {}).then(() => this.#open(session, token));
    this.#opening.set(session.id, opening);
    const done = () => {
      if (this.#opening.get(session.id) === opening) this.#opening.delete(session.id);
    };
    opening.then(done, done);
    return opening;
  }

  async #open(session: Session, token: vscode.CancellationToken | undefined): Promise<void> {
    const { from, to, files } = await this.#connection.request('Changes', { session: session.id }, { token });
    if (files.length === 0) {
      await this.#closeEarlier(session.id);
      void showInformation(`Nothing has changed since ${session.base}: "${shortNameOf(session)}".`);
      return;
    }
    const resources = files.slice(0, MAX_FILES).map(({ path, oldPath, status }) => {
      const right = status === 'deleted' ? undefined : contentsUri(session.id, path, to);
      const left = status === 'added' ? undefined : contentsUri(session.id, oldPath ?? path, from);
      return [contentsUri(session.id, path, to), left, right];
    });
    await this.#closeEarlier(session.id);
    const before = new Set(openTabs());
    const label = nameOf(session);
    // VS Code adds how many they are.
    await vscode.commands.executeCommand('vscode.changes', label, resources);
    // The person may be elsewhere by now: the active tab may be any.
    const opened = openTabs().find((tab) => !before.has(tab) && tab.label.startsWith(label));
    if (opened !== undefined) this.#tabs.set(session.id, opened);
    if (files.length > MAX_FILES) {
      void showInformation(`The first ${MAX_FILES} of ${files.length} changed files are shown.`);
    }
  }

  async #closeEarlier(session: string): Promise<void> {
    const earlier = this.#tabs.get(session);
    this.#tabs.delete(session);
    if (earlier !== undefined && openTabs().includes(earlier)) await vscode.window.tabGroups.close(earlier);
  }
}

function openTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
}
