import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { EntryReason, EntryState, QueueEntry } from '../../sidecar/protocol/entry.ts';
import type { LandRequest } from '../../sidecar/queue/land-request.ts';
import type { SessionRecord } from '../../sidecar/sessions/record.ts';
import { type OpenQueue, type OpenQueueOptions, openQueue } from './open-queue.ts';
import { type Files, TestRepository } from './repository.ts';
import { TestClock } from './test-clock.ts';

/** A session without an agent: a branch and a worktree, and whatever a test writes there. */
export interface TestSession {
  id: string;
  branch: string;
  /** Its worktree. */
  work: TestRepository;
}

type Sought = EntryState | EntryReason;

/** A merge queue over a real repository and a real store. Closed with the test. */
export class TestQueue {
  readonly demo: TestRepository;
  readonly clock: TestClock;
  readonly #options: OpenQueueOptions;
  #open: OpenQueue;

  private constructor(demo: TestRepository, more: Partial<OpenQueueOptions>) {
    this.demo = demo;
    this.clock = new TestClock();
    this.#options = {
      home: join(demo.root, 'fairlead'),
      environment: demo.environment,
      clock: this.clock,
      ...more,
    };
    this.#open = openQueue(this.#options);
  }

  static open(demo: TestRepository, more: Partial<OpenQueueOptions> = {}): TestQueue {
    const queue = new TestQueue(demo, more);
    onTestFinished(async () => {
      await queue.#open.close();
    });
    return queue;
  }

  get parts(): OpenQueue {
    return this.#open;
  }

  /** A session as it is right after its start: a branch at the base, and its worktree. */
  session(title: string, options: { base?: string; from?: string; files?: Files } = {}): TestSession {
    const { base = 'main', from = base } = options;
    const id = `s${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '')}`;
    const branch = `fairlead/${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const work = this.demo.worktree(`worktrees/${id}`, branch, from);
    const base_commit = work.tip();
    this.#open.addSession(this.demo.folder, { id, title, branch, base, worktree: work.folder, base_commit });
    if (options.files !== undefined) work.commit(options.files, `Work of ${title}`);
    return { id, branch, work };
  }

  land(session: TestSession, more: Partial<LandRequest> = {}): Promise<QueueEntry> {
    return this.#open.queue.land({ session: session.id, withLocalCommits: false, ...more });
  }

  cancel(session: TestSession): Promise<QueueEntry> {
    return this.#open.queue.remove(session.id);
  }

  /** What the agent of a session was asked, oldest first. */
  prompts(session: TestSession): string[] {
    return this.#open.store
      .all('SELECT text FROM prompt WHERE session = :session ORDER BY created_at, request', {
        session: session.id,
      })
      .map(({ text }) => String(text));
  }

  /** A turn of its agent: takes the prompts that wait for it, does `work`, and ends. */
  async turn(
    session: TestSession,
    work: () => Promise<void> | void = () => {},
    outcome: 'done' | 'interrupted' = 'done',
  ): Promise<void> {
    this.beginTurn(session);
    await work();
    this.endTurn(session, outcome);
  }

  beginTurn({ id }: TestSession): void {
    const { table, inTurn, queue } = this.#open;
    const now = this.clock.now();
    table.transaction(() => {
      for (const prompt of table.openPrompts(id)) {
        table.updatePrompt(prompt.id, { state: 'confirmed', confirmed_at: now });
      }
      const event = `turn ${table.turnCount(id) + 1}`;
      table.openTurn({ session: id, agent_session: 'c', event, prompt: 'p', started_at: now });
      table.update(id, { demand: null });
    });
    inTurn.add(id);
    queue.tick();
  }

  endTurn({ id }: TestSession, outcome: 'done' | 'interrupted' = 'done'): void {
    const { table, inTurn, queue } = this.#open;
    table.closeTurn(id, table.turnCount(id), { outcome, answer: null, endedAt: this.clock.now() });
    inTurn.delete(id);
    queue.tick();
  }

  /** Waits until the agent of a session has been asked `times` times. */
  async asked(session: TestSession, times = 1): Promise<QueueEntry> {
    await expect.poll(() => this.prompts(session).length, { timeout: 25_000, interval: 10 }).toBe(times);
    return this.entry(session);
  }

  /** The newest entry of a session. */
  entry(session: TestSession): QueueEntry {
    const record = this.#open.entries.lastOf(session.id);
    if (record === undefined) throw new Error(`${session.id} was never queued`);
    return this.#open.queue.view(record.id);
  }

  record(session: TestSession): SessionRecord {
    return this.#open.table.get(session.id);
  }

  /** Waits until the newest entry of a session is in a state, or is there for a reason. */
  async until(session: TestSession, ...sought: Sought[]): Promise<QueueEntry> {
    const found = (entry: QueueEntry) =>
      sought.includes(entry.state) || (entry.reason !== null && sought.includes(entry.reason));
    await expect
      .poll(
        () => {
          const entry = this.entry(session);
          const { state, reason, message } = entry;
          return found(entry) ? 'found' : JSON.stringify({ state, reason, message });
        },
        { timeout: 25_000, interval: 10, message: `${session.id} becomes ${sought.join(' or ')}` },
      )
      .toBe('found');
    return this.entry(session);
  }

  /** Lands and waits for the end. */
  async landed(session: TestSession, more: Partial<LandRequest> = {}): Promise<QueueEntry> {
    await this.land(session, more);
    return this.until(session, 'landed');
  }

  /** What was said of a session's entries, oldest first. */
  story(session: TestSession): string[] {
    return this.#open.events
      .after(0)
      .filter((event) => event.session === session.id)
      .map(({ entry, message }) => (entry === message ? `${entry}` : `${entry}: ${message}`));
  }

  /** Ends in order, and begins again on what was stored. */
  async restart(more: Partial<OpenQueueOptions> = {}): Promise<void> {
    await this.#open.close();
    this.#open = openQueue({ ...this.#options, ...more });
    this.#open.queue.tick();
  }

  /** Worktrees of the queue's own, intents, locks and half-made state: all that must be gone when nothing runs. */
  leftovers(): string[] {
    const own = ['.checks', '.merges'].flatMap((name) => {
      const folder = join(this.#open.paths.worktrees, name);
      return existsSync(folder) ? readdirSync(folder).map((each) => join(name, each)) : [];
    });
    const registered = this.demo
      .git('worktree', 'list', '--porcelain')
      .split('\n')
      .filter((line) => line.startsWith('worktree ') && /\/\.(checks|merges)\//.test(line));
    const refs = this.demo
      .git('for-each-ref', '--format=%(refname)')
      .split('\n')
      .filter((ref) => !/^refs\/(heads|remotes|tags)\//.test(ref));
    const intents = this.#open.store
      .all('SELECT entry FROM landing_intent')
      .map(({ entry }) => `intent ${entry}`);
    return [...own, ...registered, ...refs, ...intents, ...this.demo.leftovers()];
  }
}

/** A repository with `files` that goes away with the test. */
export function demoWith(files?: Files): TestRepository {
  const demo = TestRepository.with(files);
  onTestFinished(() => demo[Symbol.dispose]());
  return demo;
}
