import { watch } from 'node:fs';
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
  for (let repeat = 0; repeat < 2 * REPEATS + 1; repeat += 1) {
    world.model.when(prompt('Again')).says('Done.').after(300);
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
  let equal = true;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await settled(bench);
    let dropped = 0;
    const watcher = watch(folder, (_kind, name) => {
      if (dropped === 0 && name?.startsWith('.') === false) dropped = Date.now();
    });
    await bench.watchRows();
    await world.json('send', session.id, 'Again');
    const isChanged = (text: string) => text.includes(session.title) && /working/i.test(text);
    const changed = await firstChange(bench, isChanged);
    watcher.close();
    times.ours.push(changed - dropped);
    await world.finished(session.id);

    await settled(bench);
    await bench.watchRows();
    const { at } = await bench.ask('/redraw-peer');
    times.peer.push((await firstChange(bench, (text) => text.includes(`at-${at}`))) - at);
    equal &&= dropped > 0 && changed >= dropped;
    report(`tree.event ${times.ours.at(-1)} ms, whole tree ${times.peer.at(-1)} ms`);
  }
  return figureOf('tree.event', times, { floor: 1, stretch: 3, equal });
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
