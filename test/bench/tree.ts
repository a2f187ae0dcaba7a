import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { eventsFolder } from '../../sidecar/agents/claude/settings.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import type { World } from '../support/world.ts';
import { BenchWindow, until } from './support/bench-window.ts';
import { type Figure, figureOf, median, round } from './support/figure.ts';
import { growFleet } from './support/fleet-of.ts';

const REPEATS = 9;
/** Frames of a display at 60 Hz that may be left out one after the other: nobody sees it. In milliseconds. */
const FRAME_LIMIT = 50;

/**
 * `tree.event`: from the file that an agent's hook drops to the change of its row on the screen, with 200 sessions,
 * against one refresh of a whole tree of 200 rows. `tree.rows`: the longest frame while 500 rows are drawn anew
 * because their order changes.
 */
export async function tree(report: (line: string) => void): Promise<Figure[]> {
  await using bench = await BenchWindow.open();
  const { world } = bench.desk;
  for (let repeat = 0; repeat <= REPEATS; repeat += 1) {
    world.model.when(prompt('Again')).says('Done.').after(300);
    world.model
      .when(prompt(`Ask ${repeat}`))
      .callsTool('Bash', () => ({ command: `touch asked-${repeat}`, description: 'Ask' }))
      .thenSays('Done.');
  }
  const session = await world.start('Again', '--title', 'The one that works');
  await world.finished(session.id);
  report('making 200 sessions');
  await growFleet(world, 200);
  await bench.load();
  await bench.window.openFleet();
  await bench.ask('/show-peer');
  await bench.window.row('Peer row').first().waitFor();
  await bench.window.row(session.title).waitFor();
  const event = await eventFigure(bench, world, session, report);
  report('making 300 more');
  await growFleet(world, 500);
  return [event, await rowsFigure(bench, world, session, report)];
}

async function eventFigure(
  bench: BenchWindow,
  world: World,
  session: Session,
  report: (line: string) => void,
): Promise<Figure> {
  const folder = eventsFolder(gitDirOf(world, session));
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await settled(bench);
    const dropped = dropOf('PermissionRequest', folder);
    await bench.watchRows();
    await world.json('send', session.id, `Ask ${repeat}`);
    // What is asked is told by the hook alone; that something is asked, other signals tell as well.
    const changed = await firstChange(bench, (text) => text.includes(`touch asked-${repeat}`));
    times.ours.push(changed - (await dropped));
    await world.asks(session.id);
    await world.json('answer', session.id, 'allow');
    await world.finished(session.id);

    await settled(bench);
    await bench.watchRows();
    const { at } = await bench.ask('/redraw-peer');
    times.peer.push((await firstChange(bench, (text) => text.includes(`at-${at}`))) - at);
    report(`tree.event ${times.ours.at(-1)} ms, whole tree ${times.peer.at(-1)} ms`);
  }
  return figureOf('tree.event', times, { floor: 1, stretch: 3, equal: true });
}

/** When the file of the next event of this name is dropped, in milliseconds since the epoch. */
function dropOf(event: string, folder: string): Promise<number> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_kind, name) => {
      const at = Date.now();
      if (name === null || name.startsWith('.') || !isEvent(join(folder, name), event)) return;
      watcher.close();
      resolve(at);
    });
  });
}

/** False for a file that was taken away before it could be read. */
function isEvent(file: string, event: string): boolean {
  try {
    return readFileSync(file, 'utf8').includes(`"hook_event_name":"${event}"`);
  } catch {
    return false;
  }
}

async function rowsFigure(
  bench: BenchWindow,
  world: World,
  session: Session,
  report: (line: string) => void,
): Promise<Figure> {
  const frames: number[] = [];
  const idle: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await settled(bench);
    await bench.watchRows();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    idle.push(await bench.longestFrame());
    await world.json('send', session.id, 'Again');
    await world.finished(session.id);
    await firstChange(bench, (text) => text.includes(session.title) && /finished/i.test(text));
    await settled(bench);
    frames.push(await bench.longestFrame());
    report(`tree.rows longest frame ${frames.at(-1)?.toFixed(0)} ms, at rest ${idle.at(-1)?.toFixed(0)} ms`);
  }
  const longest = median(frames);
  return {
    name: 'tree.rows',
    ours: round(longest),
    peer: FRAME_LIMIT,
    ratio: round(FRAME_LIMIT / longest),
    floor: null,
    stretch: 1,
    equal: true,
    n: frames.length,
  };
}

function gitDirOf(world: World, session: Session): string {
  return world.repository.at(session.worktree).git('rev-parse', '--absolute-git-dir').trim();
}

/** When a row changed to words that fit, in milliseconds since the epoch. */
async function firstChange(bench: BenchWindow, fits: (text: string) => boolean): Promise<number> {
  let at: number | undefined;
  await until('a row changes', async () => {
    at = (await bench.changes()).find(({ text }) => fits(text))?.at;
    return at !== undefined;
  });
  return at ?? Number.NaN;
}

/** Waits until no row has changed for a while. */
async function settled(bench: BenchWindow): Promise<void> {
  await bench.watchRows();
  let seen = -1;
  await until('the rows rest', async () => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    const now = (await bench.changes()).length;
    const isSame = now === seen;
    seen = now;
    return isSame;
  });
}
