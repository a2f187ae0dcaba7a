import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { type Family, family } from './family.ts';
import { LedgerHome } from './ledger-home.ts';
import { answer } from './transcript-lines.ts';

const price = (output: number) => ({
  input: 1,
  output,
  cacheWrite5m: 1,
  cacheWrite1h: 1,
  cacheRead: 1,
  webSearch: 0,
});
const TABLES = [
  pricesWith(),
  pricesWith({ models: { 'claude-nonesuch-9': [price(3)] } }),
  pricesWith({ models: { 'claude-opus-5-5': [price(7)] } }),
];

/** Every run makes a database of its own, and disks differ. */
const TIMEOUT = 180_000;

const step = fc.record({
  kind: fc.constantFrom('append', 'read', 'read', 'ask', 'crash', 'restart', 'prices', 'converse', 'remove'),
  which: fc.nat(99),
  bytes: fc.nat(9_000),
});

/** What the sessions have cost by their kept sums, and added up from their requests. */
function bothWays(home: LedgerHome, sessions: readonly string[]) {
  return {
    kept: sessions.map((session) => home.ledger.sessionCost(session)),
    keptTogether: sessions.map((session) => home.ledger.sessionCosts(sessions).get(session)),
    added: sessions.map((session) => {
      const { ownUsd, usd, unpriced } = home.ledger.summary({ by: 'session', session }).total;
      return { ownUsd, usd, unpriced };
    }),
  };
}

function crashNextCommit(home: LedgerHome, table: string): void {
  home.store.run(
    `CREATE TEMP TRIGGER crash BEFORE ${table === 'session_cost' ? 'UPDATE' : 'INSERT'} ON ${table}
     BEGIN SELECT RAISE(ABORT, 'crash'); END`,
  );
}

async function apply(
  home: LedgerHome,
  made: Family,
  sessions: string[],
  done: Map<string, number>,
  { kind, which, bytes }: { kind: string; which: number; bytes: number },
): Promise<void> {
  const names = [...made.files.keys()];
  const name = names[which % names.length] ?? '';
  const paths = names.map((each) => home.path(each));
  const session = sessions[which % sessions.length] ?? '';
  if (kind === 'append') {
    const from = done.get(name) ?? 0;
    const piece = made.files.get(name)?.subarray(from, from + bytes) ?? Buffer.alloc(0);
    appendFileSync(home.path(name), piece);
    done.set(name, from + piece.length);
  } else if (kind === 'read') await home.read(which % 2 === 0 ? paths : [home.path(name)]);
  else if (kind === 'ask') home.ledger.sessionCost(session);
  else if (kind === 'restart') home.restart();
  else if (kind === 'prices') await home.priceWith(TABLES[which % TABLES.length] ?? pricesWith());
  else if (kind === 'converse') {
    // The session takes up a conversation that another one has had, or had itself before.
    const id = made.agentSessions[bytes % made.agentSessions.length] ?? '';
    home.store.run(
      `INSERT INTO agent_session (session, ordinal, id, started_at)
       SELECT :session, coalesce(max(ordinal), 0) + 1, :id, :at FROM agent_session WHERE session = :session`,
      { session, id, at: Date.UTC(2026, 10, 1) - 2 + (bytes % 5) },
    );
  } else if (kind === 'remove' && sessions.length > 1) {
    home.store.run('DELETE FROM session WHERE id = :session', { session });
    sessions.splice(sessions.indexOf(session), 1);
  } else if (kind === 'crash') {
    crashNextCommit(home, ['request', 'request_copy', 'transcript', 'session_cost'][which % 4] ?? 'request');
    await home.read(paths).catch((error: unknown) => expect(String(error)).toContain('crash'));
    home.restart();
  }
}

describe('the kept sum of a session', () => {
  it(
    'is what its requests add up to, after any readings, crashes, price tables and conversations',
    () =>
      fc.assert(
        fc.asyncProperty(family, fc.array(step, { minLength: 5, maxLength: 30 }), async (made, steps) => {
          const home = new LedgerHome();
          try {
            const sessions = made.agentSessions.map((id) => `s-${id}`);
            for (const id of made.agentSessions) home.addSession(`s-${id}`, [[id, 0]]);
            const done = new Map<string, number>();
            // Something has been read before, so that every step meets requests.
            for (const [index, [name, bytes]] of [...made.files].entries()) {
              if (index % 2 === 1) continue;
              appendFileSync(home.path(name), bytes);
              done.set(name, bytes.length);
            }
            await home.read([...made.files.keys()].map((name) => home.path(name)));
            for (const each of steps) {
              await apply(home, made, sessions, done, each);
              const { kept, keptTogether, added } = bothWays(home, sessions);
              expect(kept).toEqual(added);
              expect(keptTogether).toEqual(added);
            }
          } finally {
            home.remove();
          }
        }),
        { numRuns: 80 },
      ),
    TIMEOUT,
  );

  it('is added up once, and from then on changes with each request', async () => {
    const home = new LedgerHome();
    try {
      home.addSession('s', [['a', 0]]);
      const keptRows = () => home.store.all('SELECT own, unpriced FROM session_cost');
      appendFileSync(home.path('a.jsonl'), answer({ message: 'm1', session: 'a', output: 1 }));
      await home.read([home.path('a.jsonl')]);
      expect(keptRows()).toEqual([]);
      home.ledger.sessionCost('s');
      expect(keptRows()).toEqual([{ own: 20_000, unpriced: 0 }]);
      appendFileSync(home.path('a.jsonl'), answer({ message: 'm2', session: 'a', output: 1 }));
      appendFileSync(home.path('a.jsonl'), answer({ message: 'm3', session: 'a', model: 'nonesuch' }));
      await home.read([home.path('a.jsonl')]);
      expect(keptRows()).toEqual([{ own: 40_000, unpriced: 1 }]);
    } finally {
      home.remove();
    }
  });

  it('is there for every session once the ledger has caught up', async () => {
    const home = new LedgerHome();
    try {
      for (const id of ['a', 'b', 'c']) home.addSession(`s-${id}`, [[id, 0]]);
      await home.ledger.catchUp(async () => {});
      expect(home.store.get('SELECT count(*) AS n FROM session_cost')).toEqual({ n: 3 });
    } finally {
      home.remove();
    }
  });

  it('is read for all sessions at once, and no request with them', () => {
    const home = new LedgerHome();
    try {
      const sessions = Array.from({ length: 100 }, (_, n) => `s${n}`);
      const insert = `INSERT INTO request (message, request, payer, copied, born, side_chain, replayed, at, cwd, branch,
          model, input, output, cache_write_5m, cache_write_1h, cache_read, web_searches, speed, geo, nano)
        VALUES (?, '', ?, 0, 0, 0, 0, 0, '', '', 'm', 0, 0, 0, 0, 0, 0, '', '', 1)`;
      home.store.transaction(() => {
        for (const session of sessions) {
          home.addSession(session, [[`of ${session}`, 0]]);
          for (let n = 0; n < 300; n += 1) home.store.run(insert, [`${session} ${n}`, `of ${session}`]);
        }
      });
      const timeOf = (work: () => void) => {
        const before = performance.now();
        work();
        return performance.now() - before;
      };
      home.ledger.sessionCosts(sessions);
      const rounds = Array.from({ length: 7 }, () => ({
        kept: timeOf(() => home.ledger.sessionCosts(sessions)),
        added: timeOf(() => {
          for (const session of sessions) home.ledger.summary({ by: 'session', session });
        }),
      }));
      const all = vi.spyOn(home.store, 'all');
      const get = vi.spyOn(home.store, 'get');
      home.ledger.sessionCosts(sessions);
      const statements = [...all.mock.calls, ...get.mock.calls].map(([sql]) => sql);
      expect(statements).toHaveLength(1);
      expect(statements[0]).not.toContain('request');
      const median = (of: 'kept' | 'added') => rounds.map((round) => round[of]).sort((a, b) => a - b)[3] ?? 0;
      console.log(
        `costs of 100 sessions with 300 requests: ${median('kept').toFixed(2)} ms, added up ${median('added').toFixed(0)} ms`,
      );
    } finally {
      home.remove();
    }
  });

  it.each(['PRAGMA query_only = ON', 'PRAGMA max_page_count = 1'])(
    'is answered though nothing can be written (%s), and kept once that is over',
    async (unwritable) => {
      const home = new LedgerHome();
      try {
        for (const id of ['a', 'b', 'c']) home.addSession(`s-${id}`, [[id, 0]]);
        appendFileSync(home.path('a.jsonl'), answer({ message: 'm', session: 'a', output: 1 }));
        await home.read([home.path('a.jsonl')]);
        // The page of the sums is full, so that one more needs another.
        home.store.run('DROP TABLE session_cost');
        home.store.run(
          `CREATE TABLE session_cost (session TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
             own INTEGER NOT NULL, "all" INTEGER NOT NULL, unpriced INTEGER NOT NULL, filler BLOB DEFAULT (zeroblob(5000)))`,
        );
        home.store.get(unwritable);
        await expect(home.ledger.catchUp(async () => {})).rejects.toMatchObject({
          code: expect.stringMatching(/^(home.read-only|disk.full)$/),
        });
        expect(home.ledger.sessionCost('s-a').ownUsd).toBe(0.00002);
        expect(home.ledger.sessionCosts(['s-a', 's-b']).get('s-a')?.ownUsd).toBe(0.00002);
        home.store.get('PRAGMA query_only = OFF');
        home.store.get('PRAGMA max_page_count = 100000');
        expect(home.store.all('SELECT 1 FROM session_cost')).toEqual([]);
        home.ledger.sessionCost('s-a');
        expect(home.store.all('SELECT own FROM session_cost')).toEqual([{ own: 20_000 }]);
      } finally {
        home.remove();
      }
    },
  );

  it('that is asked for in a transaction is answered, and nothing of it is kept', () => {
    const home = new LedgerHome();
    try {
      home.addSession('s', [['a', 0]]);
      expect(home.store.transaction(() => home.ledger.sessionCost('s'))).toEqual({
        ownUsd: 0,
        usd: 0,
        unpriced: 0,
      });
      expect(home.store.all('SELECT 1 FROM session_cost')).toEqual([]);
    } finally {
      home.remove();
    }
  });

  it('goes with its session', () => {
    const home = new LedgerHome();
    try {
      home.addSession('s', [['a', 0]]);
      home.ledger.sessionCost('s');
      home.store.run("DELETE FROM session WHERE id = 's'");
      expect(home.store.get('SELECT count(*) AS n FROM session_cost')).toEqual({ n: 0 });
    } finally {
      home.remove();
    }
  });
});
