import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { firstLook } from '../../extension/connection/first-look.ts';
import type { SidecarInfo } from '../../sidecar/protocol/protocol.ts';
import { gone } from '../support/sidecar.ts';
import { World } from '../support/world.ts';
import { BenchWindow } from './support/bench-window.ts';
import { type Figure, figureOf } from './support/figure.ts';
import { growFleet } from './support/fleet-of.ts';
import type { Run } from './support/run.ts';

/** As many as fit on the screen, so that every row can be compared. */
const SESSIONS = 20;
const FEW_SESSIONS = 3;

/**
 * `activate.warm`: from the call of the extension's `activate` until it has the rows of the tree, and from the editor's
 * question for them until they are handed over, with a sidecar that runs, in a window that rests. `activate.handed`: the
 * same with what the editor takes before it asks. `activate.shown`: until the rows are on the screen.
 * `activate.cold`: from the start of a sidecar's process to its first answer. The peer of all is `node -e 0`.
 */
export async function activate(run: Run): Promise<Figure[]> {
  return [await cold(run), ...(await warm(run))];
}

async function warm(run: Run): Promise<Figure[]> {
  await using bench = await BenchWindow.open({ onlyByView: true });
  const sessions = await growFleet(bench.app.world, run.isQuick ? FEW_SESSIONS : SESSIONS);
  const titles = sessions.map(({ title }) => title).sort();
  // From here on it remembers where the sidecar is.
  await bench.load();
  await bench.ask('/show-fleet');
  await bench.window.fleet.row('Task 1').first().waitFor();
  await bench.ask('/hide-fleet');
  const own: number[] = [];
  const handed: number[] = [];
  const shown: number[] = [];
  const peer: number[] = [];
  let equal = true;
  for (let repeat = 0; repeat < run.repeats; repeat += 1) {
    await bench.load();
    await quiet();
    await bench.watchRows();
    await bench.ask('/show-fleet');
    const drawnAt = await bench.firstRow('fleet', 'Task 1');
    const at = await bench.ask('/activation');
    if (at.began === null || at.known === null || at.asked === null || at.handed === null) {
      throw new Error('It was not activated.');
    }
    own.push(at.known - at.began + (at.handed - Math.max(at.asked, at.known)));
    handed.push(at.handed - at.began);
    shown.push(drawnAt - at.began);
    // What is drawn is what the sidecar has.
    const rows = (await bench.rows('fleet')).map((row) =>
      titles.filter((title) => row.startsWith(title)).at(-1),
    );
    equal &&= JSON.stringify(rows.sort()) === JSON.stringify(titles);
    await bench.ask('/hide-fleet');
    await quiet();
    peer.push(await nodeAlone());
    const ms = (value: number | undefined) => value?.toFixed(1);
    run.report(
      `activate.warm ${ms(own.at(-1))} ms (known ${ms(at.known - at.began)}, asked ${ms(at.asked - at.began)}, ` +
        `handed ${ms(handed.at(-1))}, shown ${ms(shown.at(-1))}), node -e 0 ${ms(peer.at(-1))} ms`,
    );
  }
  return [
    figureOf('activate.warm', { ours: own, peer }, { floor: 1, stretch: 2, equal }),
    figureOf('activate.handed', { ours: handed, peer }, { floor: null, stretch: null, equal }),
    figureOf('activate.shown', { ours: shown, peer }, { floor: null, stretch: null, equal }),
  ];
}

async function cold(run: Run): Promise<Figure> {
  await using world = await World.open();
  await growFleet(world, run.isQuick ? FEW_SESSIONS : SESSIONS);
  const { home, environment } = world.fairlead;
  const { version, build, socket } = await world.json<SidecarInfo & { socket: string }>('up');
  const bundle = join(home, 'versions', `${version}-${build}`);
  const expected = JSON.stringify(await firstLook(socket, { build, version }));
  const pid = await world.fairlead.sidecarPid();
  process.kill(pid, 'SIGTERM');
  await gone(pid);
  const times = { ours: [] as number[], peer: [] as number[] };
  let equal = expected !== undefined;
  for (let repeat = 0; repeat < run.repeats; repeat += 1) {
    const began = performance.now();
    const child = spawn(process.execPath, [join(bundle, 'sidecar.js'), '--home', home], {
      // As `fairlead up` starts it.
      env: { ...environment, NODE_COMPILE_CACHE: join(bundle, 'compiled') },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    let answer: string | undefined;
    while (answer === undefined) {
      answer = JSON.stringify(await firstLook(socket, { build, version }));
      if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    times.ours.push(performance.now() - began);
    equal &&= answer === expected;
    child.kill('SIGTERM');
    await ended;
    times.peer.push(await nodeAlone());
    run.report(
      `activate.cold ${times.ours.at(-1)?.toFixed(1)} ms, node -e 0 ${times.peer.at(-1)?.toFixed(1)} ms`,
    );
  }
  return figureOf('activate.cold', times, { floor: 0.25, stretch: 0.4, equal });
}

/**
 * Waits until the machine has finished with the window that was loaded: Node starts about as fast as it ever did.
 * Where others keep it busy, both sides have to live with that.
 */
async function quiet(): Promise<void> {
  let calm = 0;
  for (let tries = 0; calm < 3 && tries < 40; tries += 1) {
    const now = await nodeAlone();
    fastest = Math.min(fastest, now);
    calm = now < 1.7 * fastest ? calm + 1 : 0;
  }
}

/** What a Node that does nothing takes at best, in milliseconds. */
let fastest = Number.POSITIVE_INFINITY;

/** Milliseconds that a Node takes which does nothing. */
async function nodeAlone(): Promise<number> {
  const began = performance.now();
  const code = await new Promise((resolve) =>
    spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('exit', resolve),
  );
  if (code !== 0) throw new Error(`node -e 0 ended with ${code}.`);
  return performance.now() - began;
}
