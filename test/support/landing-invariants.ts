import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS } from '../../sidecar/platform/migrations.ts';
import { Store } from '../../sidecar/platform/store.ts';
import { EntryRecord } from '../../sidecar/queue/entry-table.ts';
import type { TestRepository } from './repository.ts';

interface HistoryCommit {
  id: string;
  parents: string[];
  subject: string;
}

/**
 * The invariants of the merge queue, read from git and the store alone, whoever runs the queue. Sessions land on
 * `main`; a session called `one` has the branch `fairlead/one`.
 */
export class LandingInvariants {
  /** Set when somebody has taken commits off the base. */
  isRewound = false;
  readonly #demo: TestRepository;
  readonly #target: TestRepository;
  readonly #home: string;
  readonly #checked: string;
  /** What git said of commits, which never change. */
  readonly #known = new Map<string, unknown>();

  /**
   * @param places `target`: where `main` lands, the repository itself or its remote; `home`: Fairlead's; `checked`: a
   * file to which each check appends the tree that it saw, one a line
   */
  constructor(places: { demo: TestRepository; target: TestRepository; home: string; checked: string }) {
    this.#demo = places.demo;
    this.#target = places.target;
    this.#home = places.home;
    this.#checked = places.checked;
    places.target.config('core.logAllRefUpdates', 'always');
  }

  /** What holds at any moment, in the middle of a landing and after any crash. @returns what does not */
  violations(): string[] {
    // The store first: what it says has happened must be found in git.
    const entries = this.entries();
    const handBacks = this.#handBacks();
    const first = this.#history('--first-parent');
    const all = new Set(this.#history().map(({ id }) => id));
    return [
      ...entries.filter(({ state }) => state === 'landed').flatMap((entry) => this.#ofLanded(entry, all)),
      ...entries.flatMap((entry) => ofEnded(entry, handBacks.get(entry.id) ?? 0)),
      ...this.#ofMarkers(),
      ...ofRepeated(first, entries),
      ...first.flatMap((commit) => this.#ofMerge(commit)),
      ...(this.isRewound ? [] : this.#ofMoves()),
    ];
  }

  /** What is left although nothing runs. */
  leftBehind(): string[] {
    const folders = ['.checks', '.merges'].flatMap((name) => {
      const folder = join(this.#home, 'worktrees', name);
      return existsSync(folder) ? readdirSync(folder).map((each) => join(name, each)) : [];
    });
    const worktrees = this.#demo
      .git('worktree', 'list', '--porcelain')
      .split('\n')
      .filter((line) => /^worktree .*\/\.(checks|merges)\//.test(line));
    const refs = [this.#demo, this.#target].flatMap((repository) =>
      repository
        .git('for-each-ref', '--format=%(refname)')
        .split('\n')
        .filter((ref) => !/^refs\/(heads|remotes|tags)\//.test(ref)),
    );
    const intents = this.read((store) => store.all('SELECT entry FROM landing_intent'));
    const damage = this.#demo.tryGit('fsck', '--connectivity-only', '--no-dangling', '--no-progress').stderr;
    return [
      ...folders,
      ...worktrees,
      ...refs,
      ...intents.map(({ entry }) => `intent ${entry}`),
      ...this.#demo.leftovers(),
      ...this.processes(),
      ...(damage === '' ? [] : [damage]),
    ];
  }

  /** Processes that were started for the repository; those that have ended do not count. Source: proc(5). */
  processes(): string[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(this.#demo.root)) return [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
        return [`process ${name}: ${command}`];
      } catch {
        return [];
      }
    });
  }

  entries(): EntryRecord[] {
    const rows = this.read((store) => store.all('SELECT * FROM queue_entry ORDER BY number'));
    return rows.map((row) => EntryRecord.parse(row));
  }

  read<T>(look: (store: Store) => T): T {
    const store = Store.open(join(this.#home, 'state.db'), MIGRATIONS);
    try {
      return look(store);
    } finally {
      store.close();
    }
  }

  /** How often each entry was handed back. */
  #handBacks(): Map<string, number> {
    const rows = this.read((store) => store.all('SELECT entry, count(*) AS n FROM hand_back GROUP BY entry'));
    return new Map(rows.map(({ entry, n }) => [String(entry), Number(n)]));
  }

  #ofMarkers(): string[] {
    const tip = this.#target.tip('main');
    const found = this.#once(
      `markers ${tip}`,
      () => this.#target.tryGit('grep', '-l', '^<<<<<<< ', tip).stdout,
    );
    return found === '' ? [] : [`I3: conflict markers are on main: ${found}`];
  }

  #ofLanded(entry: EntryRecord, main: ReadonlySet<string>): string[] {
    const { id, head, landed } = entry;
    if (landed === null || (!this.isRewound && !main.has(landed))) {
      return [`I18: ${id} is said to have landed as ${landed}, which main lacks`];
    }
    const found: string[] = [];
    const seen = existsSync(this.#checked) ? readFileSync(this.#checked, 'utf8').split('\n') : [];
    const tree = this.#once(`tree ${landed}`, () => this.#target.tree(landed));
    if (entry.check_command !== null && !seen.includes(tree)) {
      found.push(`I1: the tree of ${landed} was never checked`);
    }
    const bringsHead = () => entry.method !== 'merge' || head === null || this.#isAncestor(head, landed);
    if (!this.#once(`head ${head} ${landed}`, bringsHead)) {
      found.push(`I6: ${landed} does not bring the head ${head} that was queued`);
    }
    return found;
  }

  /** A merge brings what its branch has changed, and nothing else. */
  #ofMerge({ id, parents, subject }: HistoryCommit): string[] {
    const [base, head] = parents;
    if (!isLanding(subject) || base === undefined || head === undefined) return [];
    const foreign = this.#once(`foreign ${id}`, () => {
      const own = new Set(this.#paths(this.#target.git('merge-base', base, head), head));
      return this.#paths(base, id).filter((path) => !own.has(path));
    });
    return foreign.length === 0 ? [] : [`I3: ${subject} changed ${foreign}, which its branch did not`];
  }

  /** Every move of `main`, as its reflog has them. */
  #ofMoves(): string[] {
    const folder = this.#once('git folder', () => this.#target.git('rev-parse', '--absolute-git-dir'));
    const file = join(folder, 'logs/refs/heads/main');
    // The first move makes the file.
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    return lines.flatMap((line) => {
      const [from = '', to = ''] = line.split(' ');
      if (/^0*$/.test(from) || this.#once(`move ${from} ${to}`, () => this.#isAncestor(from, to))) return [];
      return [`I2: main went from ${from} to ${to}`];
    });
  }

  #history(...options: string[]): HistoryCommit[] {
    const lines = this.#target.git('log', ...options, '--format=%H%x00%P%x00%s', 'main', '--').split('\n');
    return lines.map((line) => {
      const [id = '', parents = '', subject = ''] = line.split('\0');
      return { id, parents: parents.split(' ').filter((each) => each !== ''), subject };
    });
  }

  #isAncestor(ancestor: string, commit: string): boolean {
    return this.#target.tryGit('merge-base', '--is-ancestor', ancestor, commit).exitCode === 0;
  }

  #paths(from: string, to: string): string[] {
    const text = this.#target.git('diff-tree', '-r', '--no-renames', '--name-only', from, to);
    return text === '' ? [] : text.split('\n');
  }

  #once<T>(key: string, ask: () => T): T {
    if (!this.#known.has(key)) this.#known.set(key, ask());
    return this.#known.get(key) as T;
  }
}

function ofEnded(entry: EntryRecord, handBacks: number): string[] {
  const found: string[] = [];
  if (entry.ended_at !== null && entry.state !== 'landed' && entry.reason === null) {
    found.push(`I11: ${entry.id} ended as ${entry.state} without a reason`);
  }
  const isItsOwn = entry.reason === 'conflict' || entry.reason === 'red-check';
  if (entry.tries > handBacks + Number(isItsOwn)) {
    found.push(
      `I8: ${entry.id} has ${entry.tries} tries, was handed back ${handBacks} times, and is there for ${entry.reason}`,
    );
  }
  return found;
}

/** Each entry brings its branch once at most; one that ended otherwise has brought nothing, one that is open may have. */
function ofRepeated(history: readonly HistoryCommit[], entries: readonly EntryRecord[]): string[] {
  const landings = history.filter(({ subject }) => isLanding(subject));
  return [...Map.groupBy(landings, ({ subject }) => subject)].flatMap(([subject, commits]) => {
    const branch = /\((.*)\)$/.exec(subject)?.[1];
    const allowed = entries.filter(
      (entry) => entry.branch === branch && (entry.state === 'landed' || entry.ended_at === null),
    ).length;
    if (commits.length <= allowed) return [];
    return [`I4: ${branch} is on main ${commits.length} times, for ${allowed} entries`];
  });
}

function isLanding(subject: string): boolean {
  return subject.startsWith("Merge '");
}
