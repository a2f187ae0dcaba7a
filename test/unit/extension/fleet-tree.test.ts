import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { TreeItemCollapsibleState } from 'vscode';
import type { FleetNode, WindowRepositories } from '../../../extension/fleet/fleet-tree.ts';
import { FleetTree } from '../../../extension/fleet/fleet-tree.ts';
import { workspace } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

const trees: FleetTree[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) tree.dispose();
});

function treeOf(
  fleet: ReturnType<typeof fleetOf>['fleet'],
  own: readonly string[] = ['/repo'],
  more: Partial<WindowRepositories> = {},
): FleetTree {
  const tree = new FleetTree(fleet, { all: own, isKnown: true, refused: [], ...more });
  trees.push(tree);
  return tree;
}

/** The rows as a person sees them: each with those that hang on it. */
async function rows(tree: FleetTree, node?: FleetNode): Promise<object> {
  const nodes = await tree.getChildren(node);
  for (const each of nodes) expect(tree.getParent(each)).toBe(node);
  return Object.fromEntries(
    await Promise.all(nodes.map(async (each) => [each.id, await rows(tree, each)] as const)),
  );
}

const family = [
  sessionOf({ id: 'one', family: 'one', createdAt: 1 }),
  sessionOf({ id: 'two', family: 'one', createdAt: 2 }),
  sessionOf({ id: 'three', family: 'one', createdAt: 3 }),
];
const alone = sessionOf({ id: 'alone', createdAt: 4 });

describe('the rows of a family', () => {
  it('hang on its first session', async () => {
    const { fleet } = fleetOf([...family, alone]);
    expect(await rows(treeOf(fleet))).toEqual({ alone: {}, one: { two: {}, three: {} } });
  });

  it('all stay when the first is archived, and hang on the oldest that is left', async () => {
    const { fleet, tell } = fleetOf([...family, alone]);
    const tree = treeOf(fleet);
    tell({ ...sessionOf({ id: 'one' }), state: 'archived' });
    expect(await rows(tree)).toEqual({ alone: {}, two: { three: {} } });
    tell({ ...sessionOf({ id: 'two', family: 'one' }), state: 'archived' });
    expect(await rows(tree)).toEqual({ alone: {}, three: {} });
  });

  it('are drawn with the whole tree: a row that is drawn alone meanwhile stays without them', async () => {
    const { fleet, tell } = fleetOf(family.slice(0, 1));
    const tree = treeOf(fleet);
    const [first] = await tree.getChildren();
    if (first === undefined) throw new Error('there is no row');
    expect(tree.getTreeItem(first).collapsibleState).toBe(TreeItemCollapsibleState.None);
    tell(sessionOf({ id: 'two', family: 'one', createdAt: 2 }));
    expect(tree.getTreeItem(first).collapsibleState).toBe(TreeItemCollapsibleState.None);
    const { id } = tree.getTreeItem(first);
    await tree.getChildren();
    const parent = tree.getTreeItem(first);
    expect(parent.collapsibleState).toBe(TreeItemCollapsibleState.Expanded);
    // Another row for VS Code, which would keep the one that it has folded.
    expect(parent.id).not.toBe(id);
  });

  it('hang on the same session whichever needs the person first', async () => {
    const { fleet, tell } = fleetOf(family.slice(1));
    const tree = treeOf(fleet, []);
    tell(sessionOf({ id: 'three', family: 'one', createdAt: 3, state: 'needs-you', need: 1 }));
    expect(await rows(tree)).toEqual({ invitation: {}, '/repo': { two: { three: {} } } });
  });
});

describe('ages', () => {
  it('are drawn row by row: no menu of a row is to meet a tree that is drawn anew', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { fleet } = fleetOf([...family, alone]);
    const tree = treeOf(fleet);
    const drawn: (FleetNode[] | undefined)[] = [];
    tree.onDidChangeTreeData((nodes) => drawn.push(nodes));
    await rows(tree);
    vi.advanceTimersByTime(32_000);
    expect(drawn.map((nodes) => nodes?.map(({ id }) => id).sort())).toEqual([
      ['alone', 'one', 'three', 'two'],
    ]);
  });
});

describe('a window without a session, where others have some', () => {
  const { fleet } = fleetOf([alone]);

  it('offers to start one in its own repository, or to open one', async () => {
    for (const [own, label, command] of [
      [['/mine'], 'No session yet', 'fairlead.newSession'],
      [[], 'No repository here', 'vscode.openFolder'],
    ] as const) {
      const tree = treeOf(fleet, own);
      expect(await rows(tree)).toEqual({ invitation: {}, '/repo': { alone: {} } });
      const [first] = await tree.getChildren();
      if (first === undefined) throw new Error('there is no row');
      expect(tree.getTreeItem(first)).toMatchObject({ label, command: { command } });
    }
  });

  it('says nothing before its repositories are known, nor once it has one', async () => {
    const tree = treeOf(fleet, [], { isKnown: false });
    expect(await rows(tree)).toEqual({ '/repo': { alone: {} } });
    expect(await rows(treeOf(fleet, ['/repo', '/mine']))).toEqual({ '/repo': { alone: {} } });
  });

  it('speaks of trust first, and of no session, in Restricted Mode', async () => {
    workspace.isTrusted = false;
    onTestFinished(() => {
      workspace.isTrusted = true;
    });
    const [first] = await treeOf(fleet, ['/mine']).getChildren();
    if (first === undefined) throw new Error('there is no row');
    expect(treeOf(fleet, ['/mine']).getTreeItem(first)).toMatchObject({
      label: 'Restricted Mode',
      command: { command: 'workbench.trust.manage' },
    });
  });
});

describe('a repository that cannot be used', () => {
  const refused = [
    { folder: '/theirs', message: 'The repository at /theirs belongs to another user.', hint: 'Trust it.' },
  ];

  it('is a row that says why, in the place of an invitation to open one', async () => {
    for (const sessions of [[], [alone]]) {
      const { fleet } = fleetOf(sessions);
      const tree = treeOf(fleet, [], { refused });
      const [first, ...others] = await tree.getChildren();
      if (first === undefined) throw new Error('there is no row');
      expect(tree.getTreeItem(first)).toMatchObject({
        label: 'theirs',
        description: 'The repository belongs to another user.',
        tooltip: 'The repository at /theirs belongs to another user.\nTrust it.',
      });
      expect(others.map(({ kind }) => kind)).toEqual(sessions.map(() => 'repository'));
    }
  });
});
