import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { Contents, contentsUri } from '../../../extension/lanes/contents.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { workspace } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

const COMMIT = 'a'.repeat(40);
const worktreeFile = contentsUri('one', 'src/app.js', null);

/** A worktree with one file, as the sidecar would read it. */
function scene() {
  const state = { text: 'one' as string | null, reads: 0 };
  let tell: (session: Session) => void = () => {};
  const read = async (): Promise<never> => {
    state.reads += 1;
    const content = state.text === null ? null : Buffer.from(state.text).toString('base64');
    return { content } as never;
  };
  const contents = new Contents({
    request: read,
    requestIfConnected: read,
    on: (_name: string, listener: (news: never) => void) => {
      tell = listener as (session: Session) => void;
      return new vscode.Disposable(() => {});
    },
  });
  const changes: [string, vscode.FileChangeType][] = [];
  contents.onDidChangeFile((files) =>
    changes.push(...files.map(({ uri, type }) => [uri.path, type] as [string, vscode.FileChangeType])),
  );
  return { contents, state, changes, change: (id = 'one') => tell(sessionOf({ id })) };
}

beforeEach(() => {
  vi.useFakeTimers();
  workspace.textDocuments = [{ uri: worktreeFile }, { uri: contentsUri('one', 'src/app.js', COMMIT) }];
});
afterEach(() => {
  vi.useRealTimers();
  workspace.textDocuments = [];
});

describe('the files of a multi-diff editor', () => {
  it('are asked for a few at a time, and each once though both sides are read and looked at', async () => {
    const asked: string[] = [];
    let pending = 0;
    let most = 0;
    const contents = new Contents({
      request: async (_name: string, params: object): Promise<never> => {
        asked.push(JSON.stringify(params));
        pending += 1;
        most = Math.max(most, pending);
        await new Promise((resolve) => setTimeout(resolve, 5));
        pending -= 1;
        return { content: '' } as never;
      },
      requestIfConnected: async () => undefined,
      on: () => new vscode.Disposable(() => {}),
    });
    const uris = Array.from({ length: 300 }, (_, n) => [
      contentsUri('one', `${n}.txt`, COMMIT),
      contentsUri('one', `${n}.txt`, null),
    ]).flat();
    const all = Promise.all(uris.flatMap((uri) => [contents.stat(uri), contents.readFile(uri)]));
    await vi.runAllTimersAsync();
    await all;
    expect(most).toBe(16);
    expect(asked).toHaveLength(600);
    expect(new Set(asked).size).toBe(600);
    contents.dispose();
  });
});

describe('files of a worktree that are open', () => {
  it('are read again when their session changes, though nobody watches them', async () => {
    const { contents, state, changes, change } = scene();
    await contents.readFile(worktreeFile);
    change();
    await vi.runAllTimersAsync();
    expect(changes).toEqual([]);
    state.text = 'two';
    change();
    change();
    await vi.runAllTimersAsync();
    expect(changes).toEqual([['/src/app.js', vscode.FileChangeType.Changed]]);
    state.text = null;
    change();
    await vi.runAllTimersAsync();
    expect(changes.at(-1)).toEqual(['/src/app.js', vscode.FileChangeType.Deleted]);
    contents.dispose();
  });

  it('are left alone when another session changes, and when they are closed', async () => {
    const { contents, state, change } = scene();
    await contents.readFile(worktreeFile);
    change('two');
    workspace.textDocuments = [];
    change();
    await vi.runAllTimersAsync();
    expect(state.reads).toBe(1);
    contents.dispose();
  });

  it('have another time once they are others', async () => {
    const { contents, state } = scene();
    const { mtime } = await contents.stat(worktreeFile);
    vi.advanceTimersByTime(10);
    expect((await contents.stat(worktreeFile)).mtime).toBe(mtime);
    state.text = 'two';
    expect((await contents.stat(worktreeFile)).mtime).toBeGreaterThan(mtime);
    contents.dispose();
  });
});

describe('files at a commit', () => {
  it('are read once, as long as not too many bytes of others were read since', async () => {
    const { contents, state } = scene();
    const file = (n: number) => contentsUri('one', `${n}.bin`, COMMIT);
    await Promise.all([contents.readFile(file(0)), contents.readFile(file(0))]);
    await contents.readFile(file(0));
    expect(state.reads).toBe(1);
    state.text = 'x'.repeat(10 * 1024 * 1024);
    for (const n of [1, 2, 3, 4]) await contents.readFile(file(n));
    state.reads = 0;
    await contents.readFile(file(4));
    expect(state.reads).toBe(0);
    await contents.readFile(file(1));
    expect(state.reads).toBe(1);
    contents.dispose();
  });
});

describe('a file whose name is not UTF-8', () => {
  it.each([
    ['a byte', 'caf\udce9.txt'],
    ['the mark of a broken character', 'caf\ufffddce9.txt'],
    ['both, and a pair', '\ufffd\udcff 🚢.txt'],
  ])('has a URI that can be written, and is asked for by its own name: %s', async (_what, path) => {
    const asked: unknown[] = [];
    const contents = new Contents({
      request: async (_name: string, params: object): Promise<never> => {
        asked.push(params);
        return { content: '' } as never;
      },
      requestIfConnected: async () => undefined,
      on: () => new vscode.Disposable(() => {}),
    });
    const uri = contentsUri('one', path, COMMIT);
    expect(() => uri.toString()).not.toThrow();
    await contents.readFile(uri);
    expect(asked).toEqual([{ session: 'one', path, commit: COMMIT }]);
    contents.dispose();
  });
});
