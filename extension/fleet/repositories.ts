import { access, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../connection/failure.ts';
import { pickText } from '../window/pick-text.ts';

/** Repositories directly below a folder that lies in none: so many are looked at. */
const MAX_BELOW = 20;

/** A repository that is there and cannot be used: why, and what to do. */
export interface RefusedRepository {
  folder: string;
  message: string;
  hint: string;
}

/** Where what was found last is kept for the workspace. */
const KEPT = 'repositories';

/**
 * The repositories of this window's folders, by the absolute path of their main checkout, as the sidecar finds them. For a
 * folder that lies in none they are those directly below it.
 * Known once the sidecar was asked; asked again when the folders change.
 */
export class Repositories implements vscode.Disposable {
  readonly #connection: Pick<Connection, 'requestIfConnected' | 'onDidChangeState'>;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #byFolder = new Map<string, string | null>();
  /** The repositories below folders that lie in none. */
  readonly #below = new Map<string, readonly string[]>();
  readonly #remembered = new Map<string, string>();
  readonly #refused = new Map<string, RefusedRepository>();
  /** Main checkouts of repositories without a commit. */
  readonly #empty = new Set<string>();
  readonly #state: vscode.Memento;
  readonly #disposables: vscode.Disposable[];

  constructor(
    connection: Pick<Connection, 'requestIfConnected' | 'onDidChangeState'>,
    state: vscode.Memento,
  ) {
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
    const found = folders()
      .flatMap((folder) => this.#places(folder))
      .map((folder) => this.#byFolder.get(folder) ?? this.#remembered.get(folder));
    return [...new Set(found.filter((repo) => repo !== undefined && repo !== null))];
  }

  /** Of the window's folders those whose repository cannot be used, in the order of the folders. */
  get refused(): readonly RefusedRepository[] {
    return folders()
      .flatMap((folder) => this.#places(folder))
      .flatMap((folder) => this.#refused.get(folder) ?? []);
  }

  /** Whether none of the window's repositories has a commit to start from. */
  get areEmpty(): boolean {
    return this.all.length > 0 && this.all.every((main) => this.#empty.has(main));
  }

  /** A folder and what is known to lie below it. */
  #places(folder: string): readonly string[] {
    const below =
      this.#below.get(folder) ?? [...this.#remembered.keys()].filter((each) => dirname(each) === folder);
    return [folder, ...below];
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
        const main = await this.#mainOf(folder);
        if (main === undefined) return;
        const below = main === null ? await repositoriesBelow(folder) : [];
        const mains = await Promise.all(below.map((each) => this.#mainOf(each)));
        for (const [index, each] of below.entries()) this.#byFolder.set(each, mains[index] ?? null);
        this.#below.set(folder, below);
        this.#byFolder.set(folder, main);
        for (const each of this.#remembered.keys()) {
          if (each === folder || dirname(each) === folder) this.#remembered.delete(each);
        }
      }),
    );
    const kept = Object.fromEntries([...this.#byFolder].filter(([, main]) => main !== null));
    void this.#state.update(KEPT, kept);
    this.#changed.fire();
  }

  /** Null where there is none that can be used, undefined where nobody could be asked. */
  async #mainOf(folder: string): Promise<string | null | undefined> {
    const found = await this.#connection
      .requestIfConnected('FindRepository', { folder })
      .catch((error: unknown) => {
        const { code, message, hint } = failureOf(error);
        if (code.startsWith('daemon.')) return undefined;
        return { main: null, message, hint: hint ?? '', hasCommit: false };
      });
    if (found === undefined) return undefined;
    const { main, message, hint, hasCommit } = found;
    if (message === null || hint === null || hint === undefined) this.#refused.delete(folder);
    else this.#refused.set(folder, { folder, message, hint });
    if (main !== null && hasCommit === false) this.#empty.add(main);
    else if (main !== null) this.#empty.delete(main);
    return main;
  }

  /** Asks again about folders without a repository that has a commit: one may have been made there. */
  async findAgain(): Promise<void> {
    const isUsable = (main: string | null | undefined) => typeof main === 'string' && !this.#empty.has(main);
    await this.#ask(folders().filter((folder) => !isUsable(this.#byFolder.get(folder))));
  }

  /**
   * The folder in which something is to be started: that of the active editor's repository, else the only one, else the one
   * the person picks. Undefined when they pick none, or when there is none.
   */
  async choose(placeHolder: string): Promise<string | undefined> {
    const candidates = folders()
      .flatMap((folder) => this.#places(folder))
      .filter((folder) => typeof this.#byFolder.get(folder) === 'string');
    const active = await this.#activeFolder(candidates);
    if (active !== undefined) return active;
    if (candidates.length <= 1) return candidates[0];
    const picked = await vscode.window.showQuickPick(
      candidates.map((folder) => ({
        label: pickText(nameOf(folder)),
        description: pickText(dirname(folder)),
        folder,
      })),
      { title: 'New Session', placeHolder },
    );
    return picked?.folder;
  }

  /** A repository that a file of the window lies in is one of the window's from then on. */
  #add(folder: string, main: string): void {
    const root = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(folder))?.uri.fsPath;
    if (root === undefined) return;
    this.#byFolder.set(folder, main);
    this.#below.set(root, [...this.#places(root).slice(1), folder]);
    this.#changed.fire();
  }

  /** One of `candidates` that is of the same repository; else that of the file itself, however deep it lies. */
  async #activeFolder(candidates: readonly string[]): Promise<string | undefined> {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme !== 'file' || vscode.workspace.getWorkspaceFolder(uri) === undefined) return undefined;
    const folder = dirname(uri.fsPath);
    const main = await this.#mainOf(folder);
    if (typeof main !== 'string') return undefined;
    const same = candidates.filter((each) => this.#byFolder.get(each) === main);
    // Two worktrees of one repository may be open: the file lies in one of them.
    const known = same.find((each) => isBelow(folder, each)) ?? same[0];
    if (known === undefined) this.#add(folder, main);
    return known ?? folder;
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

/** Whether a folder of this window seems to lie in a repository: cheap, and enough to know whether to look closer. */
export async function hasRepository(): Promise<boolean> {
  for (const folder of folders()) {
    for (let each = folder; ; each = dirname(each)) {
      if (await isThere(join(each, '.git'))) return true;
      if (each === dirname(each)) break;
    }
    if ((await repositoriesBelow(folder)).length > 0) return true;
  }
  return false;
}

/** Folders directly below that have a `.git`, in their order by name. */
async function repositoriesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const found: string[] = [];
  for (const name of names.sort()) {
    if (found.length === MAX_BELOW) break;
    if (await isThere(join(folder, name, '.git'))) found.push(join(folder, name));
  }
  return found;
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith('../'));
}

/** As the window calls it; of one that lies below a folder of the window, the way there. */
function nameOf(folder: string): string {
  const root = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(folder));
  if (root === undefined) return folder;
  const way = relative(root.uri.fsPath, folder);
  return way === '' ? root.name : `${root.name}/${way}`;
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === 'file')
    .map(({ uri }) => uri.fsPath);
}
