import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import type { Connection } from './connection/connection.ts';

/** Where what was found last is kept for the workspace. */
const KEPT = 'repositories';

/**
 * The repositories of this window's folders, by the absolute path of their main checkout, as the sidecar finds them.
 * Known once the sidecar was asked; asked again when the folders change.
 */
export class Repositories implements vscode.Disposable {
  readonly #connection: Connection;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #byFolder = new Map<string, string | null>();
  readonly #remembered = new Map<string, string>();
  readonly #state: vscode.Memento;
  readonly #disposables: vscode.Disposable[];

  constructor(connection: Connection, state: vscode.Memento) {
    this.#connection = connection;
    this.#state = state;
    // As it was the last time, until it is known how it is: rows do not move when the window has opened.
    for (const [folder, main] of Object.entries(state.get<Record<string, string>>(KEPT, {}))) {
      this.#remembered.set(folder, main);
    }
    this.#disposables = [
      this.#changed,
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.find()),
      connection.onDidChangeState(({ kind }) => {
        if (kind === 'ready') void this.find();
      }),
    ];
  }

  /** Main checkouts, in the order of the folders. */
  get all(): readonly string[] {
    const found = folders().map((folder) => this.#byFolder.get(folder) ?? this.#remembered.get(folder));
    return [...new Set(found.filter((repo) => repo !== undefined && repo !== null))];
  }

  /** Whether every folder was asked about. */
  get isKnown(): boolean {
    return folders().every((folder) => this.#byFolder.has(folder));
  }

  async find(): Promise<void> {
    await this.#ask(folders().filter((folder) => !this.#byFolder.has(folder)));
  }

  async #ask(unknown: readonly string[]): Promise<void> {
    await Promise.all(
      unknown.map(async (folder) => {
        const repo = await this.#connection
          .requestIfConnected('FindRepository', { folder })
          .catch(() => undefined);
        if (repo === undefined) return;
        this.#byFolder.set(folder, repo.main);
        this.#remembered.delete(folder);
      }),
    );
    const kept = Object.fromEntries([...this.#byFolder].filter(([, main]) => main !== null));
    void this.#state.update(KEPT, kept);
    this.#changed.fire();
  }

  /** Asks again about folders that were in no repository: one may have been made there. */
  async findAgain(): Promise<void> {
    await this.#ask(folders().filter((folder) => typeof this.#byFolder.get(folder) !== 'string'));
  }

  /**
   * The folder in which something is to be started: that of the active editor, else the only one, else the one the
   * person picks. Undefined when they pick none, or when there is none.
   */
  async choose(placeHolder: string): Promise<string | undefined> {
    const candidates = folders().filter((folder) => typeof this.#byFolder.get(folder) === 'string');
    const active = vscode.window.activeTextEditor?.document.uri;
    const activeFolder =
      active?.scheme === 'file' ? vscode.workspace.getWorkspaceFolder(active)?.uri.fsPath : undefined;
    if (activeFolder !== undefined && candidates.includes(activeFolder)) return activeFolder;
    if (candidates.length <= 1) return candidates[0];
    const picked = await vscode.window.showQuickPick(
      candidates.map((folder) => ({
        label: vscode.workspace.getWorkspaceFolder(vscode.Uri.file(folder))?.name ?? folder,
        description: dirname(folder),
        folder,
      })),
      { title: 'Fairlead', placeHolder },
    );
    return picked?.folder;
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

/** Whether a folder of this window seems to lie in a repository: cheap, and enough to know whether to look closer. */
export async function hasRepository(): Promise<boolean> {
  for (const folder of folders()) {
    for (let each = folder; ; each = dirname(each)) {
      const isOne = await access(join(each, '.git')).then(
        () => true,
        () => false,
      );
      if (isOne) return true;
      if (each === dirname(each)) break;
    }
  }
  return false;
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === 'file')
    .map(({ uri }) => uri.fsPath);
}
