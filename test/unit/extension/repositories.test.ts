import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as vscode from 'vscode';
import type { ConnectionState } from '../../../extension/connection/connection.ts';
import { hasRepository, Repositories } from '../../../extension/fleet/repositories.ts';
import { window, workspace } from '../../support/vscode.ts';

let root: string;
let offered: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-repositories-'));
  offered = [];
  workspace.workspaceFolders = [{ uri: vscode.Uri.file(root), name: 'work' }];
  workspace.getWorkspaceFolder = ({ fsPath }: vscode.Uri) =>
    fsPath.startsWith(root) ? { uri: vscode.Uri.file(root), name: 'work' } : undefined;
  window.activeTextEditor = undefined;
  window.showQuickPick = async (items: readonly { label: string }[]) => {
    offered = items.map(({ label }) => label);
    return items[0];
  };
});
afterEach(() => {
  rmSync(root, { recursive: true });
  workspace.workspaceFolders = undefined;
});

function makeRepository(...path: string[]): string {
  const folder = join(root, ...path);
  mkdirSync(join(folder, '.git'), { recursive: true });
  return folder;
}

/** The window's repositories, where the sidecar finds these folders, and what lies in them, to be repositories. */
function scene(...mains: string[]) {
  const asked: string[] = [];
  /** What the sidecar says beside that of a folder. */
  const answers: Record<string, object> = {};
  const state = new Map<string, unknown>();
  const make = () =>
    new Repositories(
      {
        requestIfConnected: async (_name: string, params: object): Promise<never> => {
          const folder = String(Reflect.get(params, 'folder'));
          asked.push(folder);
          if (answers[folder] instanceof Error) throw answers[folder];
          const main = mains.find((each) => folder === each || folder.startsWith(`${each}/`)) ?? null;
          return { main, message: null, ...answers[folder] } as never;
        },
        onDidChangeState: new vscode.EventEmitter<ConnectionState>().event,
      },
      {
        keys: () => [...state.keys()],
        get: (key: string, fallback?: unknown) => (state.get(key) ?? fallback) as never,
        update: async (key: string, value: unknown) => void state.set(key, value),
      },
    );
  return { make, asked, answers };
}

const edit = (path: string) => {
  window.activeTextEditor = { document: { uri: vscode.Uri.file(path) } };
};

describe('a folder with repositories below it', () => {
  it('has them as those of the window, and offers each', async () => {
    const [one, two] = [makeRepository('one'), makeRepository('two')];
    mkdirSync(join(root, 'notes'));
    expect(await hasRepository()).toBe(true);
    const { make } = scene(one, two);
    const repositories = make();
    await repositories.find();
    expect(repositories.all).toEqual([one, two]);
    expect(repositories.isKnown).toBe(true);
    expect(await repositories.choose('Which?')).toBe(one);
    expect(offered).toEqual(['work/one', 'work/two']);
    // After a reload they are known before anybody is asked.
    expect(make().all).toEqual([one, two]);
  });

  it('looks at no more of them than a person picks from', async () => {
    const mains = Array.from({ length: 30 }, (_, n) => makeRepository(String(n)));
    const { make, asked } = scene(...mains);
    await make().find();
    expect(asked.length).toBeLessThanOrEqual(21);
  });

  it('finds one that has come since', async () => {
    const one = join(root, 'one');
    const repositories = scene(one).make();
    await repositories.find();
    expect(repositories.all).toEqual([]);
    makeRepository('one');
    await repositories.findAgain();
    expect(repositories.all).toEqual([one]);
  });
});

describe('the file that is edited', () => {
  it('tells the repository, also one that lies deeper', async () => {
    const [one, two, deep] = [makeRepository('one'), makeRepository('two'), makeRepository('a', 'b')];
    const repositories = scene(one, two, deep).make();
    await repositories.find();
    edit(join(two, 'src/app.js'));
    expect(await repositories.choose('Which?')).toBe(two);
    edit(join(deep, 'src/app.js'));
    expect(await repositories.choose('Which?')).toBe(join(deep, 'src'));
    expect(repositories.all).toEqual([one, two, deep]);
    expect(offered).toEqual([]);
  });

  it('leaves the folder of the window where that is of the same repository', async () => {
    makeRepository();
    const repositories = scene(root).make();
    await repositories.find();
    edit(join(root, 'src/app.js'));
    expect(await repositories.choose('Which?')).toBe(root);
  });
});

describe('a folder whose repository cannot be used', () => {
  it('is told with the reason until it can, and is not taken for one without a repository', async () => {
    const { make, answers } = scene();
    answers[root] = { main: null, message: 'It belongs to another user.', hint: 'Trust it.' };
    const repositories = make();
    await repositories.find();
    const refused = { folder: root, message: 'It belongs to another user.', hint: 'Trust it.' };
    expect(repositories.refused).toEqual([refused]);
    answers[root] = { main: root, hasCommit: true };
    await repositories.findAgain();
    expect(repositories.refused).toEqual([]);
    expect(repositories.all).toEqual([root]);
  });

  it('is told with what went wrong where it could not be looked at', async () => {
    const { make, answers } = scene();
    answers[root] = new Error('It broke.');
    const repositories = make();
    await repositories.find();
    expect(repositories.isKnown).toBe(true);
    expect(repositories.refused).toMatchObject([
      { folder: root, message: expect.stringContaining('It broke') },
    ]);
  });

  it('is not told where there is none', async () => {
    const { make, answers } = scene();
    answers[root] = { main: null, message: `${root} is not in a git repository.`, hint: null };
    const repositories = make();
    await repositories.find();
    expect(repositories.refused).toEqual([]);
  });

  it('has no commit until it is asked about again', async () => {
    const { make, answers } = scene(root);
    answers[root] = { hasCommit: false };
    const repositories = make();
    await repositories.find();
    expect(repositories.areEmpty).toBe(true);
    answers[root] = { hasCommit: true };
    await repositories.findAgain();
    expect(repositories.areEmpty).toBe(false);
  });
});
