import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScanWorker } from '../../../sidecar/cost/transcript-scanner.ts';
import type { Log } from '../../../sidecar/platform/log.ts';
import { writeHistory } from '../../support/history.ts';
import { scanWorker } from '../../support/scanner.ts';
import { LedgerHome } from '../../unit/cost/ledger-home.ts';
import { answer } from '../../unit/cost/transcript-lines.ts';

const TIMEOUT = 120_000;

let home: LedgerHome;
let events: string[];
let log: Log;
const opened: ScanWorker[] = [];

/** A worker that ends itself at `step`, a point in `scan-jobs.ts` with a count; the one after it does so, too. */
function worker(step?: string): ScanWorker {
  if (step === undefined) delete process.env.FAIRLEAD_FAULT;
  else process.env.FAIRLEAD_FAULT = step;
  const made = scanWorker(log);
  opened.push(made);
  return made;
}

beforeEach(() => {
  home = new LedgerHome();
  events = [];
  const note = (event: string) => void events.push(event);
  log = { debug: note, info: note, warn: note, error: note };
});
afterEach(async () => {
  delete process.env.FAIRLEAD_FAULT;
  for (const each of opened.splice(0)) await each.close();
  home.remove();
});

describe('a scan worker that dies', () => {
  it(
    'again and again is started again, says so, and neither loses nor doubles a request',
    async () => {
      const history = writeHistory(home.path('history'), {
        files: 2,
        requestsPerFile: 700,
        fillerBytes: 1_000,
      });
      home.addSession(
        's',
        history.agentSessions.map((id): [string, number] => [id, 0]),
      );
      home.ledger.sessionCost('s');
      const read = await home.ledger.read(history.transcripts, worker('scan-batch-posted#1'));
      expect(events.filter((event) => event.startsWith('scan worker died')).length).toBeGreaterThan(2);
      expect(read).toMatchObject({ requests: history.requests, malformed: 0, unreadable: [] });
      expect(home.ledger.sessionCost('s').ownUsd).toBe((history.requests * 20_000) / 1e9);
      expect(home.ledger.summary({ by: 'session' }).total.requests).toBe(history.requests);
    },
    TIMEOUT,
  );

  it(
    'before it gives anything away interrupts the reading in the end; the next one finds everything',
    async () => {
      const history = writeHistory(home.path('history'), { files: 1, requestsPerFile: 9, fillerBytes: 100 });
      home.addSession('s', [[history.agentSessions[0] ?? '', 0]]);
      const dying = worker('scan-step-begun');
      await expect(home.ledger.read(history.transcripts, dying)).rejects.toMatchObject({
        code: 'transcript.interrupted',
      });
      await expect(dying.news(history.transcripts[0] ?? '', undefined)).rejects.toMatchObject({
        code: 'transcript.interrupted',
      });
      expect((await home.ledger.read(history.transcripts, worker())).requests).toBe(9);
    },
    TIMEOUT,
  );

  it('while it reads for the state of an agent is replaced, and the next one reads all of it', async () => {
    const history = writeHistory(home.path('history'), {
      files: 1,
      requestsPerFile: 900,
      fillerBytes: 3_000,
    });
    // In the midst of it: the file is read in several pieces.
    const reader = worker('scan-step-begun#3');
    const reading = reader.news(history.transcripts[0] ?? '', undefined);
    delete process.env.FAIRLEAD_FAULT;
    const news = await reading;
    expect(events).toContain('scan worker died, is started again');
    expect(news?.position.offset).toBe(history.bytes);
    expect(news?.hints.activityAt).toBe(Date.UTC(2026, 10, 1));
  });
});

describe('a scan worker', () => {
  it('that is closed interrupts what it reads and answers nobody any more', async () => {
    const history = writeHistory(home.path('history'), {
      files: 4,
      requestsPerFile: 2_000,
      fillerBytes: 2_000,
    });
    const closing = worker();
    const reading = home.ledger.read(history.transcripts, closing);
    const rejected = expect(reading).rejects.toMatchObject({ code: 'transcript.interrupted' });
    await closing.close();
    await rejected;
    await expect(closing.news(history.transcripts[0] ?? '', undefined)).rejects.toMatchObject({
      code: 'transcript.interrupted',
    });
    expect(events).toEqual([]);
  });

  it(
    'answers for what is short while it reads what is long',
    async () => {
      const history = writeHistory(home.path('history'), {
        files: 4,
        requestsPerFile: 2_000,
        fillerBytes: 6_000,
      });
      appendFileSync(home.path('short.jsonl'), answer({ message: 'short', session: 'short' }));
      const reader = worker();
      const ends: string[] = [];
      const long = home.ledger.read(history.transcripts, reader).then(() => ends.push('long'));
      await home.ledger.read([home.path('short.jsonl')], reader).then(() => ends.push('short'));
      await reader.news(history.transcripts[0] ?? '', undefined).then(() => ends.push('news'));
      await long;
      expect(ends).toEqual(['short', 'news', 'long']);
    },
    TIMEOUT,
  );

  it(
    'leaves the event loop to others while a long history is kept',
    async () => {
      const history = writeHistory(home.path('history'), {
        files: 60,
        requestsPerFile: 600,
        fillerBytes: 5_000,
      });
      const reader = worker();
      await reader.news(home.path('none'), undefined);
      const delay = monitorEventLoopDelay({ resolution: 1 });
      const start = performance.now();
      // Turns of the event loop that others have had until each batch was kept.
      let turns = 0;
      let isOver = false;
      const turn = () => {
        turns += 1;
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      const kept: { at: number; tellings: number }[] = [];
      const keep = home.ledger.keep.bind(home.ledger);
      home.ledger.keep = (batch, changed) => {
        kept.push({ at: turns, tellings: batch.tellings.length });
        return keep(batch, changed);
      };
      delay.enable();
      const { requests } = await home.ledger.read(history.transcripts, reader);
      delay.disable();
      isOver = true;
      const took = performance.now() - start;
      const [median, max] = [delay.percentile(50) / 1e6, delay.max / 1e6];
      console.log(
        `${(history.bytes / 2 ** 20).toFixed(0)} MiB in ${took.toFixed(0)} ms; event loop late by ${median.toFixed(1)} ms (median), ${max.toFixed(1)} ms (most)`,
      );
      expect(requests).toBe(history.requests);
      // Nothing is read here, and of what was read little is kept at a time.
      expect(kept.length).toBeGreaterThan(60);
      expect(new Set(kept.map(({ at }) => at)).size).toBe(kept.length);
      expect(Math.max(...kept.map(({ tellings }) => tellings))).toBeLessThan(history.requests / 60);
    },
    TIMEOUT,
  );
});
