import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { LandingInvariants } from '../../support/landing-invariants.ts';
import { openQueue } from '../../support/open-queue.ts';
import { TestRepository } from '../../support/repository.ts';
import { MANNERS, type Manner } from '../../support/scripted-author.ts';
import { Random } from './random.ts';
import type { Answer, Command, ScheduleChildOrder } from './schedule-child.ts';

interface Author {
  id: string;
  branch: string;
  work: TestRepository;
  method: 'merge' | 'squash' | 'rebase';
}

const STEPS: readonly [LandingStep, ...LandingStep[]] = [
  'secured',
  'merged',
  'checked',
  'intended',
  'swap-begun',
  'swap-prepared',
  'swap-folder-next',
  'swap-folder-moved',
  'swap-branch-next',
  'swap-branch-moved',
  'swap-ended',
  'swapped',
  'read-back',
  'followed',
  'settled',
  'hand-back-begun',
  'hand-back-merged',
  'hand-back-undone',
  'hand-back-asked',
  'hand-back-verified',
  'hand-back-settled',
];

/** One random schedule of everything that may happen around a merge queue, with its real process killed for real. */
export class Schedule {
  /** What was done, to read when something is wrong. */
  readonly done: string[] = [];
  readonly #random: Random;
  readonly #demo: TestRepository;
  readonly #target: TestRepository;
  readonly #home: string;
  readonly #invariants: LandingInvariants;
  /** The program that runs the queue. */
  readonly #program: string;
  readonly #to: 'local' | 'remote';
  readonly #check: string | null;
  readonly #authors: Author[];
  readonly #inTurn = new Set<string>();
  /** Commits of others that must never be lost. */
  #foreign: string[] = [];
  #child: QueueProcess;
  #counter = 0;

  constructor(seed: number, program: string) {
    this.#program = program;
    const random = new Random(seed);
    this.#random = random;
    const demo = TestRepository.with({ mine: '1\n', shared: 'a\nb\nc\nd\ne\nf\n', base: 'b\n' });
    this.#to = random.pick(['local', 'remote']);
    const target = this.#to === 'remote' ? demo.withRemote() : demo;
    const home = join(demo.root, 'fairlead');
    const checked = join(demo.root, 'checked');
    this.#demo = demo;
    this.#target = target;
    this.#home = home;
    this.#invariants = new LandingInvariants({ demo, target, home, checked });
    this.#check = random.chance(0.5)
      ? `git rev-parse HEAD^{tree} >> '${checked}'; ! ls */red 2>/dev/null`
      : null;
    const open = openQueue({ home, environment: demo.environment });
    this.#authors = ['one', 'two', 'three'].map((id) => {
      const branch = `fairlead/${id}`;
      const work = demo.worktree(`work-${id}`, branch, 'main');
      open.addSession(demo.folder, { id, title: id, branch, base: 'main', worktree: work.folder });
      return { id, branch, work, method: random.pick(['merge', 'merge', 'squash', 'rebase']) };
    });
    open.store.close();
    if (random.chance(0.2)) demo.branch('elsewhere');
    demo.write({ mine: '2\n', untracked: 'u\n' });
    this.#child = this.#start();
  }

  /**
   * @returns how many entries landed, and how many of them after an agent had resolved a conflict
   * @throws when an invariant does not hold
   */
  async run(steps: number): Promise<{ landed: number; resolved: number }> {
    for (const author of this.#authors) this.#write(author);
    if (this.#random.chance(0.5)) await this.#begin();
    for (let at = 0; at < steps; at += 1) {
      await this.#act();
      await sleep(this.#random.below(60));
      this.#expect(this.#invariants.violations());
    }
    await this.#settle();
    const landed = this.#invariants.entries().filter(({ state }) => state === 'landed');
    return { landed: landed.length, resolved: landed.filter(({ tries }) => tries > 0).length };
  }

  async dispose(): Promise<void> {
    await this.#child.kill();
    this.#demo[Symbol.dispose]();
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const author = this.#authors[random.below(this.#authors.length)];
    if (author === undefined) return;
    const acts: [number, () => Promise<void> | void][] = [
      [6, () => this.#land(author)],
      [1, () => this.#cancel(author)],
      [3, () => this.#write(author)],
      [2, () => this.#turn(author, !this.#inTurn.has(author.id))],
      [3, () => this.#answer(author, random.pick(['resolves', 'resolves', ...MANNERS]))],
      [2, () => this.#foreignMove()],
      [1, () => this.#kill()],
      [1, () => this.#tell({ do: 'pass', ms: random.pick([1_000, 20_000, 700_000]) })],
      [1, () => this.#tell({ do: 'jump', ms: random.pick([-86_400_000, -10_000, 3_600_000]) })],
      [1, () => this.#tell({ do: 'tick' })],
      [1, () => this.#obstruct()],
      [0.3, () => this.#rewind()],
    ];
    let left = random.next() * acts.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of acts) {
      left -= weight;
      if (left < 0) return act();
    }
  }

  /** All of them change the same line, and land. */
  async #begin(): Promise<void> {
    for (const { id, work } of this.#authors) {
      work.commit({ shared: `a\nb\n${id}\nd\ne\nf\n` }, `${id} begins`);
    }
    for (const { id, method } of this.#authors) {
      await this.#tell({ do: 'land', session: id, to: this.#to, method, check: this.#check });
    }
  }

  /** Lands, and often enough dies in the middle of it or thinks better of it. */
  async #land(author: Author): Promise<void> {
    const { id, method } = author;
    const random = this.#random;
    if (random.chance(0.5)) {
      await this.#tell({ do: 'die-at', step: random.pick(STEPS), withGits: random.chance(0.3) });
    }
    await this.#tell({ do: 'land', session: id, to: this.#to, method, check: this.#check });
    await sleep(random.below(300));
    if (random.chance(0.2)) await this.#cancel(author);
  }

  async #answer(author: Author, how: Manner): Promise<void> {
    await this.#tell({ do: 'answer', session: author.id, how });
  }

  async #cancel(author: Author): Promise<void> {
    await this.#tell({ do: 'cancel', session: author.id });
  }

  /** Files that only this author has, the one that all share, or one that the check does not like. */
  #write(author: Author): void {
    const random = this.#random;
    this.#counter += 1;
    const line = `${author.id} ${this.#counter}`;
    const files = random.chance(0.3)
      ? { shared: this.#sharedWith(author, line) }
      : random.chance(0.15)
        ? { [`${author.id}/red`]: random.chance(0.5) ? line : null }
        : { [`${author.id}/${random.below(3)}`]: `${line}\n` };
    author.work.write(files);
    // Whoever commits the markers of an open merge and lands them by hand has meant that.
    const commits = random.chance(0.6) && !isMerging(author);
    if (commits) {
      author.work.tryGit('add', '--all');
      author.work.tryGit('commit', '--quiet', '-m', line);
    }
    this.done.push(`${author.id} ${commits ? 'commits' : 'writes'} ${Object.keys(files)}`);
  }

  #sharedWith(author: Author, line: string): string {
    const lines = (author.work.read('shared') ?? '').split('\n');
    lines[this.#random.below(6)] = line;
    return lines.join('\n');
  }

  async #turn(author: Author, begins: boolean): Promise<void> {
    if (begins) this.#inTurn.add(author.id);
    else this.#inTurn.delete(author.id);
    await this.#tell({ do: 'turn', session: author.id, begins });
  }

  /** The base moves by another hand: a push from a second clone, or a commit in the person's folder. */
  #foreignMove(): void {
    const demo = this.#demo;
    this.#counter += 1;
    const path = `foreign-${this.#counter}`;
    if (this.#to === 'remote') {
      const clone = demo.clone(`clone-${this.#counter}`);
      const commit = clone.commit({ [path]: 'f\n' }, path);
      const pushed = clone.tryGit('push', '--quiet', 'origin', 'HEAD:main').exitCode === 0;
      if (pushed) this.#foreign.push(commit);
      this.done.push(`foreign push ${pushed ? 'arrives' : 'loses'}`);
      return;
    }
    demo.write({ [path]: 'f\n' });
    demo.tryGit('add', '--', path);
    // While a landing holds the branch this is refused, as for any two gits.
    const committed = demo.tryGit('commit', '--quiet', '-m', path, '--', path).exitCode === 0;
    if (committed && demo.git('symbolic-ref', '--short', 'HEAD') === 'main') this.#foreign.push(demo.tip());
    this.done.push(`the person ${committed ? 'commits' : 'cannot commit'}`);
    if (!committed) {
      demo.tryGit('rm', '--quiet', '--cached', '--', path);
      demo.write({ [path]: null });
    }
  }

  async #kill(): Promise<void> {
    this.done.push('kill -9');
    await this.#child.kill();
    this.#child = this.#start();
  }

  /** An edit of the person in a file that others change too; the next one takes it back. */
  #obstruct(): void {
    const demo = this.#demo;
    const isDirty = demo.git('diff', '--name-only', '--', 'shared') !== '';
    if (isDirty) demo.tryGit('checkout', '--quiet', '--', 'shared');
    else demo.write({ shared: 'of the person\n' });
    this.done.push(isDirty ? 'obstacle gone' : 'obstacle');
  }

  /** Somebody takes commits off the remote's base. */
  #rewind(): void {
    const target = this.#target;
    if (this.#to === 'local') return;
    if (target.tryGit('update-ref', 'refs/heads/main', 'main~1').exitCode !== 0) return;
    this.#invariants.isRewound = true;
    this.#foreign = [];
    this.done.push('rewind');
  }

  /** Everything in the way goes away; then every entry must end, and nothing be left. */
  async #settle(): Promise<void> {
    const demo = this.#demo;
    this.done.push('settle');
    await this.#child.kill();
    this.#inTurn.clear();
    this.#child = this.#start();
    for (let round = 0; ; round += 1) {
      if (demo.git('diff', '--name-only', '--', 'shared') !== '')
        demo.tryGit('checkout', '--quiet', '--', 'shared');
      for (const author of this.#authors) {
        await this.#answer(author, 'resolves');
        // What waits for the person's judgement is not meant; nor is a merge that was left when it was taken out.
        if (round % 40 === 39) await this.#cancel(author);
        if (round % 40 === 39 && isMerging(author)) author.work.git('merge', '--abort');
      }
      const answer = await this.#tell({ do: 'open' });
      if ('open' in answer && answer.open === 0) break;
      if (round > 400) throw new Error(`entries never end:\n${this.#story()}`);
      await sleep(25);
      if (round % 10 === 9) await this.#tell({ do: 'pass', ms: 700_000 });
    }
    await this.#child.end();
    this.#expect([...this.#invariants.violations(), ...this.#invariants.leftBehind()]);
    this.#expect(this.#lost());
  }

  /** Work of the person or of authors that is not where it was left. */
  #lost(): string[] {
    const demo = this.#demo;
    const target = this.#target;
    const lost: string[] = [];
    if (demo.status() !== ' M mine\n?? untracked') lost.push(`I14: the person's folder: ${demo.status()}`);
    for (const commit of this.#foreign) {
      if (target.tryGit('merge-base', '--is-ancestor', commit, 'main').exitCode !== 0)
        lost.push(`I3: ${commit} is lost`);
    }
    const entries = this.#invariants.entries();
    for (const author of this.#authors) {
      const last = entries.filter(({ session, state }) => session === author.id && state === 'landed').at(-1);
      if (last?.head == null || this.#invariants.isRewound) continue;
      const folder = (commit: string, repository: TestRepository) =>
        repository.tryGit('rev-parse', '--verify', '--quiet', `${commit}:${author.id}`).stdout.trim();
      if (folder('main', target) !== folder(last.head, demo))
        lost.push(`I3: main lacks what ${author.id} landed`);
    }
    const before = demo.tip();
    demo.git('commit', '--quiet', '--all', '-m', 'what the person did');
    const next = demo.git('diff', '--name-only', before, 'HEAD');
    if (next !== 'mine') lost.push(`I3: the person's next commit changes ${next}`);
    return lost;
  }

  #expect(found: string[]): void {
    if (found.length > 0) throw new Error(`${found.join('\n')}\n${this.#story()}`);
  }

  #story(): string {
    const entries = this.#invariants
      .entries()
      .map(
        ({ id, session, state, reason, message }) =>
          `${id} ${session} ${state} ${reason ?? ''} ${message ?? ''}`,
      );
    return [...this.done, ...entries, this.#child.stderr].join('\n');
  }

  #start(): QueueProcess {
    const order = { home: this.#home, environment: this.#demo.environment, inTurn: [...this.#inTurn] };
    return new QueueProcess(this.#program, order);
  }

  /** Tells the queue; one that has died is started again, and was not told. */
  async #tell(command: Command): Promise<Answer> {
    const answer = await this.#child.tell(command);
    this.done.push(`${JSON.stringify(command)} → ${JSON.stringify(answer ?? 'dead')}`);
    if (answer !== undefined) return answer;
    await this.#child.kill();
    this.#child = this.#start();
    return { error: 'dead' };
  }
}

function isMerging({ work }: Author): boolean {
  return work.tryGit('rev-parse', '--verify', '--quiet', 'MERGE_HEAD').exitCode === 0;
}

/** The process that runs the queue. */
class QueueProcess {
  stderr = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #waiting: ((answer: Answer | undefined) => void)[] = [];

  constructor(program: string, order: ScheduleChildOrder) {
    const child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH },
    });
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.stderr += chunk;
    });
    // It may be dead already.
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', (line) => this.#waiting.shift()?.(JSON.parse(line)));
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        for (const answer of this.#waiting.splice(0)) answer(undefined);
        resolve();
      });
    });
  }

  /** Undefined when it dies before it answers. */
  tell(command: Command): Promise<Answer | undefined> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    });
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}
