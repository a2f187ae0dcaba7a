import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import { contentsUri } from '../lanes/contents.ts';
import { type PathLink, pathsIn } from './path-links.ts';

interface SessionLink extends vscode.TerminalLink {
  uri: vscode.Uri;
  place: PathLink;
}

/**
 * Paths in the terminals of sessions, as links to the files of their worktrees. VS Code itself would look for them below
 * the workspace folder, which is another checkout, and open those of a worktree so that git adopts it.
 */
export class SessionLinks implements vscode.TerminalLinkProvider<SessionLink>, vscode.Disposable {
  readonly #sessionOf: (terminal: vscode.Terminal) => Session | undefined;
  readonly #present: (error: unknown) => void;
  readonly #registered: vscode.Disposable;

  /** `present` tells the person what went wrong. */
  constructor(
    sessionOf: (terminal: vscode.Terminal) => Session | undefined,
    present: (error: unknown) => void,
  ) {
    this.#sessionOf = sessionOf;
    this.#present = present;
    this.#registered = vscode.window.registerTerminalLinkProvider(this);
  }

  async provideTerminalLinks({
    line,
    terminal,
  }: Pick<vscode.TerminalLinkContext, 'line' | 'terminal'>): Promise<SessionLink[]> {
    const session = this.#sessionOf(terminal);
    if (session === undefined) return [];
    const links = await Promise.all(pathsIn(line).map((place) => linkTo(session, place)));
    return links.filter((link) => link !== undefined);
  }

  /** In the editor that VS Code has for such a file, which may be a picture. Nobody hears of what is thrown here. */
  async handleTerminalLink({ uri, place }: SessionLink): Promise<void> {
    const line = Math.max(0, (place.line ?? 1) - 1);
    const character = Math.max(0, (place.column ?? 1) - 1);
    const selection = new vscode.Range(line, character, line, character);
    try {
      await vscode.commands.executeCommand('vscode.open', uri, place.line === undefined ? {} : { selection });
    } catch (error) {
      this.#present(error);
    }
  }

  dispose(): void {
    this.#registered.dispose();
  }
}

async function linkTo({ id, worktree }: Session, place: PathLink): Promise<SessionLink | undefined> {
  const file = resolve(worktree, place.path);
  const path = relative(worktree, file);
  if (path === '' || path === '..' || path.startsWith('../')) return undefined;
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) return undefined;
  return {
    startIndex: place.start,
    length: place.length,
    tooltip: 'Open the file of the session',
    uri: contentsUri(id, path, null),
    place,
  };
}
