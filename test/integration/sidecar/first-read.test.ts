import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ListSessions, Status } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import * as z from '../../../sidecar/protocol/zod.ts';
import { TestClient } from '../../support/client.ts';
import { type History, writeHistory } from '../../support/history.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 180_000;
/** US dollars of one request of the history. */
const REQUEST_USD = 0.00002;

let world: World;
let session: string;
let history: History;

/** A sidecar that is down, and a session of it with a history that nobody has read. */
beforeEach(async () => {
  world = await World.open();
  const made = await world.json<{ session: Session }>('new', '--no-start', 'History');
  session = made.session.id;
  await world.fairlead.killSidecar();
  history = writeHistory(join(world.repository.root, 'history'), {
    files: 60,
    requestsPerFile: 500,
    fillerBytes: 8_000,
  });
  const store = new DatabaseSync(join(world.fairlead.home, 'state.db'));
  const add = store.prepare(
    'INSERT INTO agent_session (session, ordinal, id, transcript, started_at) VALUES (?, ?, ?, ?, 0)',
  );
  store.exec('BEGIN');
  for (const [n, id] of history.agentSessions.entries()) {
    add.run(session, n + 1, id, history.transcripts[n] ?? '');
  }
  store.exec('COMMIT');
  store.close();
}, TIMEOUT);
afterEach(() => world[Symbol.asyncDispose](), TIMEOUT);

/** Requests that the sidecar has kept so far. */
function kept(): number {
  const store = new DatabaseSync(join(world.fairlead.home, 'state.db'), { readOnly: true, timeout: 5_000 });
  try {
    return Number(store.prepare('SELECT count(*) AS n FROM request').get()?.n);
  } finally {
    store.close();
  }
}

async function spent(): Promise<number> {
  const { cost } = await world.fairlead.show(session);
  return Math.round(cost.ownUsd / REQUEST_USD);
}

/**
 * Milliseconds that each of `status` and `ls` took, one after the other, until `done` says so; in `stages` how many
 * different costs they told.
 */
async function latencies(client: TestClient, done: (sessions: Session[], asked: number) => boolean) {
  const took: number[] = [];
  const stages = new Set<number>();
  for (;;) {
    const before = performance.now();
    await client.request(Status, {});
    const sessions = await client.request(ListSessions, { archived: false });
    took.push(performance.now() - before);
    stages.add(sessions[0]?.cost.ownUsd ?? 0);
    if (done(sessions, took.length)) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  took.sort((a, b) => a - b);
  return {
    median: took[Math.floor(took.length / 2)] ?? 0,
    most: took.at(-1) ?? 0,
    count: took.length,
    stages: stages.size,
  };
}

describe('the first reading of a long history', () => {
  it(
    'lets status and ls be answered in the midst of it, again and again',
    async () => {
      await world.fairlead.json(['up']);
      using client = await TestClient.connect(world.fairlead.home);
      const start = performance.now();
      const isRead = ([only]: Session[]) =>
        Math.round((only?.cost.ownUsd ?? 0) / REQUEST_USD) === history.requests;
      const during = await latencies(client, isRead);
      const took = performance.now() - start;
      const idle = await latencies(client, (_, asked) => asked >= 200);
      console.log(
        `${(history.bytes / 2 ** 20).toFixed(0)} MiB in ${took.toFixed(0)} ms; status and ls in the meantime ` +
          `${during.median.toFixed(1)} ms (median of ${during.count}), ${during.most.toFixed(1)} ms (most); ` +
          `idle ${idle.median.toFixed(1)} ms, ${idle.most.toFixed(1)} ms`,
      );
      // Read in between two answers, nothing of it would be seen but its beginning and its end.
      expect(during.stages).toBeGreaterThan(4);
    },
    TIMEOUT,
  );

  it(
    'that kill -9 of the sidecar and deaths of its worker cut off loses and doubles nothing',
    async () => {
      const log = () => readFileSync(join(world.fairlead.home, 'logs', 'sidecar.log'), 'utf8');
      const env = { FAIRLEAD_FAULT: 'scan-batch-posted#20' };
      expect((await world.fairlead.run(['up'], { env })).code).toBe(0);
      await expect
        .poll(log, { timeout: 60_000, interval: 5 })
        .toContain('scan worker died, is started again');
      process.kill(pidOf(log()), 'SIGKILL');
      const first = kept();
      expect(first).toBeLessThan(history.requests);
      await world.fairlead.run(['up']);
      await expect.poll(kept, { timeout: 60_000, interval: 5 }).toBeGreaterThan(first);
      await world.fairlead.killSidecar();
      await world.fairlead.run(['up'], { env });
      await expect.poll(spent, { timeout: 120_000, interval: 100 }).toBe(history.requests);
      expect(kept()).toBe(history.requests);
    },
    TIMEOUT,
  );
});

/** Of the sidecar that serves, as its log has it: to ask it would take time. */
function pidOf(log: string): number {
  const serving = log.split('\n').findLast((line) => line.includes('"sidecar serves"'));
  return z.looseObject({ pid: z.number() }).parse(JSON.parse(serving ?? '')).pid;
}
