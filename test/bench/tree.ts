import { closeSync, type FSWatcher, fstatSync, openSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { eventsFolder } from '../../sidecar/agents/claude/settings.ts';
import { Answer, ListSessions, SendPrompt, Wait, type WaitGoal } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { TestClient } from '../support/client.ts';
import { prompt } from '../support/model/story.ts';
import { BenchWindow, until } from './support/bench-window.ts';
import { type Figure, figureOf, median, round } from './support/figure.ts';
import { growFleet } from './support/fleet-of.ts';
import type { Run } from './support/run.ts';

/** Sessions of `tree.event` and of `tree.rows`; of a quick run, which has fewer than fit on the screen. */
const SESSIONS = { event: 200, rows: 500 };
const FEW_SESSIONS = { event: 4, rows: 6 };
/** Frames of a display at 60 Hz that may be left out one after the other: nobody sees it. In milliseconds. */
const FRAME_LIMIT = 50;

/**
 * `tree.event`: from the file that an agent's hook drops to the change of its row on the screen, with 200 sessions,
 * against one refresh of a whole tree of the same rows. `tree.rows`: the longest frame while 500 rows are drawn anew
 * because their order changes.
 */
export async function tree(run: Run): Promise<Figure[]> {
  await using bench = await BenchWindow.open();
  const { world } = bench.app;
  const sizes = run.isQuick ? FEW_SESSIONS : SESSIONS;
  for (let repeat = 0; repeat < run.repeats; repeat += 1) {
    world.model
      .when(prompt(`Ask ${repeat}`))
      .callsTool('Bash', () => ({ command: wantedOf(repeat), description: 'Ask' }))
      // An agent thinks before it asks: by then its row tells that it works.
      .after(1_000)
      .thenSays('Done.');
  }
  // As long as a turn lasts at least: the order changes twice.
  world.model.when(prompt('Again')).says('Done.').after(300);
  const session = await world.start('Again', '--title', 'The one that works', '--mode', 'manual');
  await world.finished(session.id);

  run.report(`making ${sizes.event} sessions`);
  await growFleet(world, sizes.event);
  await bench.load();
  await bench.window.fleet.open();
  await bench.ask('/show-peer');
  await bench.window.fleet.row(session.title).first().waitFor();
  const event = await withAgent(bench, session, (agent) => eventFigure(run, bench, agent));

  run.report(`making ${sizes.rows} sessions`);
  await growFleet(world, sizes.rows);
  await bench.load();
  await bench.window.fleet.open();
  await bench.window.fleet.row(session.title).first().waitFor();
  return [event, await withAgent(bench, session, (agent) => rowsFigure(run, bench, agent))];
}

function wantedOf(repeat: number): string {
  return `touch asked-${repeat}`;
}

async function eventFigure(run: Run, bench: BenchWindow, agent: Agent): Promise<Figure> {
  const folder = eventsFolder(agent.gitDir);
  const times = { ours: [] as number[], peer: [] as number[] };
  let equal = true;
  for (let repeat = 0; repeat < run.repeats; repeat += 1) {
    await settled(bench);
    using drops = new Drops(folder, wantedOf(repeat));
    await agent.send(`Ask ${repeat}`);
    const changed = await bench.firstRow('fleet', wantedOf(repeat));
    times.ours.push(changed - drops.lastUntil(changed));

    const sessions = await agent.sessions();
    await settled(bench);
    const { at } = await bench.ask('/draw-peer', sessions);
    times.peer.push((await bench.firstRow('peer', wantedOf(repeat))) - at);
    await settled(bench);
    // What was drawn row by row is what is drawn as a whole.
    const [ours, theirs] = [await bench.rows('fleet'), await bench.rows('peer')];
    const both = Math.min(ours.length, theirs.length);
    equal &&= both > 0 && JSON.stringify(ours.slice(0, both)) === JSON.stringify(theirs.slice(0, both));
    run.report(`tree.event ${times.ours.at(-1)?.toFixed(0)} ms, whole tree ${times.peer.at(-1)} ms`);
    await agent.allow();
  }
  return figureOf('tree.event', times, { floor: 1, stretch: 3, equal });
}

/** The hook events that name what is asked, and when each was dropped. */
class Drops implements Disposable {
  readonly #watcher: FSWatcher;
  readonly #times: number[] = [];

  constructor(folder: string, wanted: string) {
    this.#watcher = watch(folder, (_kind, name) => {
      if (name === null || name.startsWith('.')) return;
      const at = droppedAt(join(folder, name), wanted);
      if (at !== undefined) this.#times.push(at);
    });
  }

  /**
   * The last one until `at`, in milliseconds since the epoch: the row tells what they tell. Another signal may have told
   * that it is asked; then this is earlier than what made the row change.
   */
  lastUntil(at: number): number {
    const last = this.#times.filter((time) => time <= at).at(-1);
    if (last === undefined) throw new Error('The row changed before any hook told of it.');
    return last;
  }

  [Symbol.dispose](): void {
    this.#watcher.close();
  }
}

/** When a file of such an event got its name; undefined for another event, and for a file that is gone by now. */
function droppedAt(file: string, wanted: string): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    return readFileSync(descriptor, 'utf8').includes(wanted) ? fstatSync(descriptor).ctimeMs : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

async function rowsFigure(run: Run, bench: BenchWindow, agent: Agent): Promise<Figure> {
  const frames: number[] = [];
  let equal = true;
  for (let repeat = 0; repeat < run.repeats; repeat += 1) {
    await settled(bench);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const atRest = await bench.longestFrame();
    await bench.watchRows();
    await agent.send('Again');
    await agent.wait('finished');
    await settled(bench, { anew: false });
    frames.push(await bench.longestFrame());
    const rows = await bench.rows('fleet');
    const titles = (await agent.sessions()).slice(0, rows.length).map(({ title }) => title);
    equal &&= titles.length > 0 && rows.every((row, index) => row.startsWith(titles[index] ?? ' '));
    run.report(`tree.rows longest frame ${frames.at(-1)?.toFixed(0)} ms, at rest ${atRest.toFixed(0)} ms`);
  }
  const longest = median(frames);
  return {
    name: 'tree.rows',
    ours: round(longest),
    peer: FRAME_LIMIT,
    ratio: round(FRAME_LIMIT / longest),
    floor: null,
    stretch: 1,
    equal,
    n: frames.length,
  };
}

/** Waits until no row has changed for a while; then forgets which did, unless they are still wanted. */
async function settled(bench: BenchWindow, { anew = true } = {}): Promise<void> {
  let seen = -1;
  await until('the rows rest', async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const now = await bench.drawings();
    const isSame = now === seen;
    seen = now;
    return isSame;
  });
  if (anew) await bench.watchRows();
}

/** The session whose agent does something, over a connection: a command for each step would keep the machine busy. */
class Agent {
  readonly gitDir: string;
  readonly #client: TestClient;
  readonly #session: string;

  constructor(client: TestClient, session: string, gitDir: string) {
    this.#client = client;
    this.#session = session;
    this.gitDir = gitDir;
  }

  async send(text: string): Promise<void> {
    await this.#client.request(SendPrompt, { session: this.#session, text, requestId: crypto.randomUUID() });
  }

  async wait(goal: WaitGoal): Promise<void> {
    const { reached } = await this.#client.request(Wait, {
      session: this.#session,
      goal,
      timeoutSeconds: 60,
    });
    if (!reached) throw new Error(`The agent was never ${goal}.`);
  }

  async allow(): Promise<void> {
    await this.#client.request(Answer, { session: this.#session, answer: 'allow' });
    await this.wait('finished');
  }

  /** Every session, in the order in which the fleet is shown. */
  async sessions(): Promise<Session[]> {
    return this.#client.request(ListSessions, {});
  }
}

async function withAgent<T>(
  { app: { world } }: BenchWindow,
  { id, worktree }: Session,
  work: (agent: Agent) => Promise<T>,
): Promise<T> {
  const { home, environment } = world.fairlead;
  using client = await TestClient.connect(home, { environment });
  const gitDir = world.repository.at(worktree).git('rev-parse', '--absolute-git-dir');
  return await work(new Agent(client, id, gitDir));
}
