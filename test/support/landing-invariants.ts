import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../../sidecar/platform/store.ts';
import { EntryRecord } from '../../sidecar/queue/entry-table.ts';
import type { TestRepository } from './repository.ts';

/** What the invariants of the merge queue are read from: git and the store, whoever runs the queue. */
export interface LandingScene {
  demo: TestRepository;
  /** Fairlead's home. */
  home: string;
  /** Where `main` lands: the repository itself, or its remote. */
  target: TestRepository;
  /** What each check saw is appended here, a tree a line. */
  checked: string;
  /** Whether somebody has rewound the base. */
  isRewound: boolean;
}

/** Invariants that hold at any moment, in the middle of a landing and after any crash. @returns what is violated */
export function violations(scene: LandingScene, store: Store): string[] {
  const { target, demo } = scene;
  const entries = allEntries(store);
  const landed = entries.filter(({ state }) => state === 'landed');
  const found: string[] = [];
  const history = firstParents(target);
  const trees = existsSync(scene.checked) ? readFileSync(scene.checked, 'utf8').split('\n') : [];

  for (const entry of landed) {
    const { landed: commit } = entry;
    if (commit === null || (!scene.isRewound && !isAncestor(target, commit, 'main'))) {
      found.push(`I18: ${entry.id} is said to have landed as ${commit}, which main lacks`);
      continue;
    }
    if (entry.check_command !== null && !trees.includes(target.tree(commit))) {
      found.push(`I1: the tree of ${commit} was never checked`);
    }
    if (entry.head !== null && entry.method === 'merge' && !isAncestor(target, entry.head, commit)) {
      found.push(`I6: ${commit} does not bring the head ${entry.head} that was queued`);
    }
  }
  for (const [subject, commits] of Map.groupBy(history, (each) => each.subject)) {
    if (!subject.startsWith("Merge '")) continue;
    const title = subject.slice("Merge '".length, subject.lastIndexOf("'"));
    const allowed = entries.filter(
      (entry) => entry.branch === `fairlead/${title}` && mayHaveLanded(entry),
    ).length;
    if (commits.length > allowed)
      found.push(`I4: ${title} is on main ${commits.length} times, for ${allowed} entries`);
  }
  for (const commit of history) {
    const [base, head] = commit.parents;
    if (!commit.subject.startsWith("Merge '") || base === undefined || head === undefined) continue;
    const brought = paths(target, base, commit.id);
    const own = new Set(paths(target, target.git('merge-base', base, head), head));
    const foreign = brought.filter((path) => !own.has(path));
    if (foreign.length > 0) found.push(`I3: ${commit.subject} changed ${foreign}, which its branch did not`);
  }
  if (!scene.isRewound) {
    for (const [from, to] of moves(target)) {
      if (!isAncestor(target, from, to)) found.push(`I2: main went from ${from} to ${to}`);
    }
  }
  for (const entry of entries) {
    if (entry.ended_at !== null && entry.state !== 'landed' && entry.reason === null) {
      found.push(`I11: ${entry.id} ended as ${entry.state} without a reason`);
    }
    if (entry.tries > 0 && entry.reason !== 'conflict' && entry.reason !== 'red-check') {
      found.push(`I8: ${entry.id} has a try for ${entry.reason}`);
    }
  }
  if (target !== demo) demo.git('fsck', '--connectivity-only', '--no-dangling', '--no-progress');
  return found;
}

/** What must be gone when nothing runs. */
export function leftBehind(scene: LandingScene, store: Store): string[] {
  const { demo, home, target } = scene;
  const own = ['.checks', '.merges'].flatMap((name) => {
    const folder = join(home, 'worktrees', name);
    return existsSync(folder) ? readdirSync(folder).map((each) => join(name, each)) : [];
  });
  const worktrees = demo
    .git('worktree', 'list', '--porcelain')
    .split('\n')
    .filter((line) => /^worktree .*\/\.(checks|merges)\//.test(line));
  const refs = [demo, target].flatMap((repository) =>
    repository
      .git('for-each-ref', '--format=%(refname)')
      .split('\n')
      .filter((ref) => !/^refs\/(heads|remotes|tags)\//.test(ref)),
  );
  const intents = store.all('SELECT entry FROM landing_intent').map(({ entry }) => `intent ${entry}`);
  return [...own, ...worktrees, ...refs, ...intents, ...demo.leftovers(), ...processesOf(demo.root)];
}

/** Processes whose environment names the folder; those that have ended do not count. Source: proc(5). */
export function processesOf(root: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'latin1');
      if (!environment.includes(root)) return [];
      return [`process ${name}: ${readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ')}`];
    } catch {
      return [];
    }
  });
}

export function allEntries(store: Store): EntryRecord[] {
  return store.all('SELECT * FROM queue_entry ORDER BY number').map((row) => EntryRecord.parse(row));
}

/** An entry that ended otherwise has not landed; one that is open may have. */
function mayHaveLanded({ state, ended_at }: EntryRecord): boolean {
  return state === 'landed' || ended_at === null;
}

function firstParents(repository: TestRepository): { id: string; parents: string[]; subject: string }[] {
  return repository
    .git('log', '--first-parent', '--format=%H%x00%P%x00%s', 'main', '--')
    .split('\n')
    .map((line) => {
      const [id = '', parents = '', subject = ''] = line.split('\0');
      return { id, parents: parents.split(' ').filter((each) => each !== ''), subject };
    });
}

/** Every move of `main`, from and to, as the reflog has them. */
function moves(repository: TestRepository): [string, string][] {
  const file = join(repository.git('rev-parse', '--absolute-git-dir'), 'logs/refs/heads/main');
  // The first move makes the file.
  return (existsSync(file) ? readFileSync(file, 'utf8') : '')
    .trim()
    .split('\n')
    .map((line): [string, string] => [line.slice(0, 40), line.slice(41, 81)])
    .filter(([from]) => !/^0*$/.test(from));
}

function isAncestor(repository: TestRepository, ancestor: string, commit: string): boolean {
  return repository.tryGit('merge-base', '--is-ancestor', ancestor, commit).exitCode === 0;
}

function paths(repository: TestRepository, from: string, to: string): string[] {
  const text = repository.git('diff-tree', '-r', '--no-renames', '--name-only', from, to);
  return text === '' ? [] : text.split('\n');
}
