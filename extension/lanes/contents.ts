import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../failure.ts';

/** Scheme of read-only files of sessions, at a commit or as they are in the worktree. */
export const CONTENTS_SCHEME = 'fairlead';

/** The file of a session at a commit; without one, as it is in its worktree. A `file:` URI would make git adopt it. */
export function contentsUri(session: string, path: string, commit: string | null): vscode.Uri {
  return vscode.Uri.from({
    scheme: CONTENTS_SCHEME,
    authority: session,
    path: `/${path}`,
    query: commit === null ? '' : commit,
  });
}

/** Between two looks at a worktree file that is shown, in milliseconds. */
const LOOK_MS = 2_000;
/** Files at commits that are kept; they never change. */
const KEPT = 1_000;

interface Kept {
  content: Uint8Array;
  mtime: number;
}

/** Files of sessions as the sidecar reads them. */
export class Contents implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #connection: Connection;
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  readonly #atCommit = new Map<string, Promise<Uint8Array>>();
  /** What was last seen of a file in a worktree. */
  readonly #inWorktree = new Map<string, Kept>();
  readonly #disposables: vscode.Disposable[];

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerFileSystemProvider(CONTENTS_SCHEME, this, {
        isReadonly: true,
        isCaseSensitive: true,
      }),
    ];
  }

  watch(uri: vscode.Uri): vscode.Disposable {
    if (uri.query !== '') return new vscode.Disposable(() => {});
    const timer = setInterval(() => void this.#look(uri), LOOK_MS);
    return new vscode.Disposable(() => clearInterval(timer));
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const content = await this.readFile(uri);
    const mtime = this.#inWorktree.get(uri.toString())?.mtime ?? 0;
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime,
      size: content.length,
      permissions: vscode.FilePermission.Readonly,
    };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    if (uri.query === '') return this.#readInWorktree(uri);
    const key = uri.toString();
    const known = this.#atCommit.get(key);
    if (known !== undefined) return known;
    const reading = this.#read(uri);
    this.#atCommit.set(key, reading);
    reading.catch(() => this.#atCommit.delete(key));
    const [oldest] = this.#atCommit.keys();
    if (this.#atCommit.size > KEPT && oldest !== undefined) this.#atCommit.delete(oldest);
    return reading;
  }

  /** `isPoll`: nobody waits for it, so that no sidecar is started for it. */
  async #readInWorktree(uri: vscode.Uri, isPoll = false): Promise<Uint8Array> {
    const content = await this.#read(uri, isPoll);
    if (content === undefined) return new Uint8Array();
    const key = uri.toString();
    const before = this.#inWorktree.get(key);
    if (before === undefined || !equal(before.content, content)) {
      this.#inWorktree.set(key, { content, mtime: Date.now() });
    }
    return content;
  }

  async #look(uri: vscode.Uri): Promise<void> {
    const before = this.#inWorktree.get(uri.toString())?.mtime;
    await this.#readInWorktree(uri, true).catch(() => undefined);
    if (this.#inWorktree.get(uri.toString())?.mtime !== before) {
      this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    }
  }

  async #read(uri: vscode.Uri): Promise<Uint8Array>;
  async #read(uri: vscode.Uri, isPoll: boolean): Promise<Uint8Array | undefined>;
  async #read(uri: vscode.Uri, isPoll = false): Promise<Uint8Array | undefined> {
    const params = {
      session: uri.authority,
      path: uri.path.slice(1),
      ...(uri.query === '' ? {} : { commit: uri.query }),
    };
    const answer = await (isPoll
      ? this.#connection.requestIfConnected('Contents', params)
      : this.#connection.request('Contents', params)
    ).catch((error: unknown) => {
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
    for (const each of this.#disposables) each.dispose();
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
