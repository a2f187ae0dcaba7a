import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../connection/failure.ts';
import { Semaphore } from '../connection/semaphore.ts';

/** Scheme of read-only files of sessions, at a commit or as they are in the worktree. */
export const CONTENTS_SCHEME = 'fairlead';

/** The file of a session at a commit; without one, as it is in its worktree. A `file:` URI would make git adopt it. */
export function contentsUri(session: string, path: string, commit: string | null): vscode.Uri {
  return vscode.Uri.from({
    scheme: CONTENTS_SCHEME,
    authority: session,
    path: `/${uriPathOf(path)}`,
    query: commit === null ? '' : commit,
  });
}

/**
 * A path as a URI takes it. A byte that is not UTF-8 stands as a lone surrogate in it, at which VS Code throws while it
 * draws all files of a session and whenever it keeps its editors: it becomes the mark of a broken character and its number.
 */
function uriPathOf(path: string): string {
  return path.replace(/[\p{Cs}\uFFFD]/gu, (broken) => `\uFFFD${broken.charCodeAt(0).toString(16)}`);
}

/** The path of a URI from {@link contentsUri}. */
function pathOf({ path }: vscode.Uri): string {
  return path
    .slice(1)
    .replace(/\uFFFD([0-9a-f]{4})/g, (_mark, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)));
}

/** Between two looks at a worktree file that is shown, in milliseconds. */
const LOOK_MS = 2_000;
/** Bytes of files at commits that are kept; they never change. */
const KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Files that are asked for at once: VS Code wants all of a multi-diff editor together, and the sidecar lets go of whoever
 * asks for hundreds of things or is sent more than they take.
 */
const MAX_READING = 16;

/** What a file in a worktree was when it was last read; an empty hash for none. */
interface Seen {
  hash: string;
  mtime: number;
}

/** Files of sessions as the sidecar reads them. */
export class Contents implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #connection: Pick<Connection, 'request' | 'requestIfConnected' | 'on'>;
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  /** Oldest first. */
  readonly #atCommit = new Map<string, Uint8Array>();
  #keptBytes = 0;
  readonly #reading = new Map<string, Promise<Uint8Array>>();
  readonly #places = new Semaphore(MAX_READING);
  /** What was last seen of the files in worktrees that are open or watched. */
  readonly #seen = new Map<string, Seen>();
  /** Sessions whose open files are looked at soon. */
  readonly #following = new Map<string, NodeJS.Timeout>();
  readonly #disposables: vscode.Disposable[];

  constructor(connection: Pick<Connection, 'request' | 'requestIfConnected' | 'on'>) {
    this.#connection = connection;
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerFileSystemProvider(CONTENTS_SCHEME, this, {
        isReadonly: true,
        isCaseSensitive: true,
      }),
      // VS Code watches no file that it shows in a multi-diff editor.
      connection.on('SessionChanged', (session) => this.#follow(session)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#seen.delete(uri.toString())),
    ];
  }

  watch(uri: vscode.Uri): vscode.Disposable {
    if (uri.query !== '') return new vscode.Disposable(() => {});
    const timer = setInterval(() => void this.#look(uri), LOOK_MS);
    return new vscode.Disposable(() => {
      clearInterval(timer);
      if (openOf(uri.authority).every((open) => open.toString() !== uri.toString())) {
        this.#seen.delete(uri.toString());
      }
    });
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const content = await this.readFile(uri);
    const mtime = this.#seen.get(uri.toString())?.mtime ?? 0;
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime,
      size: content.length,
      permissions: vscode.FilePermission.Readonly,
    };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const key = uri.toString();
    const known = this.#atCommit.get(key);
    if (known !== undefined) return known;
    // Both sides of a comparison, and what it is read and looked at for, ask for the same at once.
    const reading = this.#reading.get(key) ?? this.#readNow(key, uri);
    this.#reading.set(key, reading);
    return reading;
  }

  async #readNow(key: string, uri: vscode.Uri): Promise<Uint8Array> {
    try {
      if (uri.query === '') return await this.#readInWorktree(uri);
      const content = await this.#read(uri);
      this.#keep(key, content);
      return content;
    } finally {
      this.#reading.delete(key);
    }
  }

  #keep(key: string, content: Uint8Array): void {
    this.#atCommit.set(key, content);
    this.#keptBytes += content.length;
    for (const [oldest, { length }] of this.#atCommit) {
      if (this.#keptBytes <= KEPT_BYTES) break;
      this.#atCommit.delete(oldest);
      this.#keptBytes -= length;
    }
  }

  /** `isPoll`: nobody waits for it, so that no sidecar is started for it. */
  async #readInWorktree(uri: vscode.Uri, isPoll = false): Promise<Uint8Array> {
    try {
      const content = await this.#read(uri, isPoll);
      if (content === undefined) return new Uint8Array();
      this.#see(uri, createHash('sha256').update(content).digest('base64'));
      return content;
    } catch (error) {
      if (error instanceof vscode.FileSystemError) this.#see(uri, '');
      throw error;
    }
  }

  #see(uri: vscode.Uri, hash: string): void {
    const key = uri.toString();
    if (this.#seen.get(key)?.hash !== hash) this.#seen.set(key, { hash, mtime: Date.now() });
  }

  /** Looks at a file that is shown, and tells when it is another than before. */
  async #look(uri: vscode.Uri): Promise<void> {
    const before = this.#seen.get(uri.toString())?.hash;
    await this.#readInWorktree(uri, true).catch(() => undefined);
    const now = this.#seen.get(uri.toString())?.hash;
    if (now === undefined || now === before) return;
    const { Changed, Deleted } = vscode.FileChangeType;
    this.#changed.fire([{ type: now === '' ? Deleted : Changed, uri }]);
  }

  #follow({ id }: Session): void {
    if (this.#following.has(id) || openOf(id).length === 0) return;
    const timer = setTimeout(() => {
      this.#following.delete(id);
      for (const uri of openOf(id)) void this.#look(uri);
    }, LOOK_MS);
    this.#following.set(id, timer);
  }

  async #read(uri: vscode.Uri): Promise<Uint8Array>;
  async #read(uri: vscode.Uri, isPoll: boolean): Promise<Uint8Array | undefined>;
  async #read(uri: vscode.Uri, isPoll = false): Promise<Uint8Array | undefined> {
    const params = {
      session: uri.authority,
      path: pathOf(uri),
      ...(uri.query === '' ? {} : { commit: uri.query }),
    };
    const ask = () =>
      isPoll
        ? this.#connection.requestIfConnected('Contents', params)
        : this.#connection.request('Contents', params);
    const answer = await this.#places.run(ask).catch((error: unknown) => {
      // An editor of a session that is no more is no failure of anything.
      if (failureOf(error).code === 'session.missing') return { content: null };
      throw error;
    });
    if (answer === undefined) return undefined;
    const { content } = answer;
    if (content === null) throw vscode.FileSystemError.FileNotFound(uri);
    return Buffer.from(content, 'base64');
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    for (const timer of this.#following.values()) clearTimeout(timer);
    for (const each of this.#disposables) each.dispose();
  }
}

/** The open files of a session's worktree. */
function openOf(session: string): vscode.Uri[] {
  return vscode.workspace.textDocuments
    .map(({ uri }) => uri)
    .filter(
      ({ scheme, authority, query }) => scheme === CONTENTS_SCHEME && authority === session && query === '',
    );
}
