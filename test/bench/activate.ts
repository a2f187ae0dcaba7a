import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { firstLook } from '../../extension/connection/first-look.ts';
import type { SidecarInfo } from '../../sidecar/protocol/protocol.ts';
import { gone } from '../support/sidecar.ts';
import { World } from '../support/world.ts';
import { BenchWindow } from './support/bench-window.ts';
import { type Figure, figureOf } from './support/figure.ts';
import { growFleet } from './support/fleet-of.ts';

const REPEATS = 9;
const SESSIONS = 20;

/**
 * `activate.warm`: from the beginning of the extension's `activate` to a tree that has its rows, with a sidecar that
 * runs, in a window that rests; `activate.shown`: until the editor, which opens the view meanwhile, has asked for them. `activate.cold`: from the start of a sidecar's process to its first answer. The peer of both
 * is `node -e 0`.
 */
export async function activate(report: (line: string) => void): Promise<Figure[]> {
  return [await cold(report), ...(await warm(report))];
}

async function warm(report: (line: string) => void): Promise<Figure[]> {
  await using bench = await BenchWindow.open({ onlyByView: true });
  await growFleet(bench.desk.world, SESSIONS);
  // From here on it remembers where the sidecar is.
  await bench.load();
  await bench.ask('/show-fleet');
  await bench.window.row('Task 1').first().waitFor();
  await bench.ask('/hide-fleet');
  const filled: number[] = [];
  const shown: number[] = [];
  const peer: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await bench.load();
    await quiet();
    await bench.ask('/show-fleet');
    await bench.window.row(`Task ${SESSIONS}`).first().waitFor();
    const activation = await bench.ask('/activation');
    if (activation.filled === null || activation.shown === null) throw new Error('It was not activated.');
    filled.push(activation.filled);
    shown.push(activation.shown);
    await bench.ask('/hide-fleet');
    await quiet();
    peer.push(await nodeAlone());
    report(`activate.warm ${filled.at(-1)?.toFixed(1)} ms, node -e 0 ${peer.at(-1)?.toFixed(1)} ms`);
  }
  return [
    figureOf('activate.warm', { ours: filled, peer }, { floor: 1, stretch: 2, equal: true }),
    figureOf('activate.shown', { ours: shown, peer }, { floor: null, stretch: null, equal: true }),
  ];
}

async function cold(report: (line: string) => void): Promise<Figure> {
  await using world = await World.open();
  await growFleet(world, SESSIONS);
  const { home, environment } = world.fairlead;
  const { version, build, socket } = await world.json<SidecarInfo & { socket: string }>('up');
  const bundle = join(home, 'versions', `${version}-${build}`);
  const expected = JSON.stringify(await firstLook(socket, { build, version }));
  const pid = await world.fairlead.sidecarPid();
  process.kill(pid, 'SIGTERM');
  await gone(pid);
  const times = { ours: [] as number[], peer: [] as number[] };
  let equal = expected !== undefined;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
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
    report(
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
  for (let tries = 0; calm < 3 && tries < 100; tries += 1) {
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
  await new Promise((resolve) =>
    spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('exit', resolve),
  );
  return performance.now() - began;
}
