import { appendFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Family, family } from './family.ts';
import { LedgerHome } from './ledger-home.ts';

const TOKEN = 20_000;
/** Every run makes a database of its own, and disks differ. */
const TIMEOUT = 180_000;

/** What happens while a ledger follows the transcripts. Numbers choose among what is possible then. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('append'), file: fc.nat(99), bytes: fc.nat(3_000) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read'), file: fc.nat(99), bytes: fc.constant(0) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restart'), file: fc.nat(99), bytes: fc.constant(0) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash'), file: fc.nat(99), bytes: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('rewrite'), file: fc.nat(99), bytes: fc.constant(0) }),
  },
);

/** Everything that a ledger says about a family. */
function answers(home: LedgerHome, made: Family) {
  const { ledger } = home;
  return {
    sessions: made.agentSessions.map((id) => [ledger.sessionCost(`s-${id}`), ledger.turnCosts(`s-${id}`)]),
    summaries: (['session', 'branch', 'day', 'model'] as const).map((by) => ledger.summary({ by })),
    perSession: made.agentSessions.map((id) => ledger.summary({ by: 'branch', session: `s-${id}` })),
  };
}

function homeFor(made: Family): LedgerHome {
  const home = new LedgerHome();
  for (const id of made.agentSessions) home.addSession(`s-${id}`, [[id, 0]]);
  return home;
}

/** The answers of a ledger that reads the whole files once, one after the other, in the order of `names`. */
async function full(made: Family, names: readonly string[]) {
  const home = homeFor(made);
  try {
    for (const name of names) {
      appendFileSync(home.path(name), made.files.get(name) ?? '');
      await home.read([home.path(name)]);
    }
    return answers(home, made);
  } finally {
    home.remove();
  }
}

/** The store fails at one of the writes of a commit, as if the process had died there. */
function failNextCommit(home: LedgerHome, where: number): void {
  const table = ['request', 'request_copy', 'transcript', 'transcript'][where] ?? 'transcript';
  home.store.run(
    `CREATE TEMP TRIGGER crash ${where === 3 ? 'AFTER' : 'BEFORE'} INSERT ON ${table}
     BEGIN SELECT RAISE(ABORT, 'crash'); END`,
  );
}

describe('the ledger', () => {
  it(
    'says the same after any appends, torn lines, restarts, crashes and rewrites as after one reading',
    () => {
      return fc.assert(
        fc.asyncProperty(family, fc.array(step, { maxLength: 40 }), fc.nat(99), async (made, steps, turn) => {
          const home = homeFor(made);
          try {
            const names = [...made.files.keys()];
            const done = new Map<string, number>();
            const append = (name: string, bytes: number) => {
              const all = made.files.get(name) ?? Buffer.alloc(0);
              const from = done.get(name) ?? 0;
              appendFileSync(home.path(name), all.subarray(from, from + bytes));
              done.set(name, Math.min(all.length, from + bytes));
            };
            for (const { kind, file, bytes } of steps) {
              const name = names[file % names.length] ?? '';
              const path = home.path(name);
              if (kind === 'append') append(name, bytes);
              else if (kind === 'read') await home.read([path]);
              else if (kind === 'restart') home.restart();
              else if (kind === 'rewrite' && done.has(name)) {
                // The same content under another inode.
                const content = readFileSync(path);
                renameSync(path, `${path}.old`);
                appendFileSync(path, content);
                rmSync(`${path}.old`);
              } else if (kind === 'crash') {
                failNextCommit(home, bytes);
                try {
                  await home.read(names.map((each) => home.path(each)));
                } catch (error) {
                  expect(String(error)).toContain('crash');
                }
                home.restart();
              }
            }
            for (const name of names) append(name, Number.POSITIVE_INFINITY);
            await home.read(names.map((name) => home.path(name)));
            const turned = names.slice(turn % names.length).concat(names.slice(0, turn % names.length));
            expect(answers(home, made)).toEqual(await full(made, turned));
          } finally {
            home.remove();
          }
        }),
        { numRuns: 60 },
      );
    },
    TIMEOUT,
  );

  it(
    'gives every session of a family what it paid and what it inherited, and the family adds up exactly',
    () => {
      return fc.assert(
        fc.asyncProperty(family, async (made) => {
          const home = homeFor(made);
          try {
            for (const [name, bytes] of made.files) appendFileSync(home.path(name), bytes);
            await home.read([...made.files.keys()].map((name) => home.path(name)));
            const nano = (requests: Family['requests']) =>
              requests.reduce((sum, { priced, output }) => sum + (priced ? output * TOKEN : 0), 0);
            for (const id of made.agentSessions) {
              const own = made.requests.filter(({ payer }) => payer === id);
              const copied = made.requests.filter(
                ({ payer, message }) => payer !== id && made.inherited.get(id)?.has(message),
              );
              expect(home.ledger.sessionCost(`s-${id}`)).toEqual({
                ownUsd: nano(own) / 1e9,
                usd: nano([...own, ...copied]) / 1e9,
                unpriced: [...own, ...copied].filter(({ priced }) => !priced).length,
              });
              const { turns, outside } = home.ledger.turnCosts(`s-${id}`);
              expect([turns.size, outside.nano, outside.requests]).toEqual([0, nano(own), own.length]);
            }
            const { total } = home.ledger.summary({ by: 'session' });
            expect(total).toMatchObject({
              ownUsd: nano(made.requests) / 1e9,
              usd: nano(made.requests) / 1e9,
              requests: made.requests.length,
            });
          } finally {
            home.remove();
          }
        }),
        { numRuns: 60 },
      );
    },
    TIMEOUT,
  );

  it(
    'divides the cost of a session among its turns without a remainder',
    () => {
      const times = fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 12 });
      fc.assert(
        fc.property(
          times,
          fc.uniqueArray(fc.integer({ min: 0, max: 10_000 }), { maxLength: 8 }),
          (ats, starts) => {
            const home = new LedgerHome();
            try {
              home.addSession('s', [['a', 0]]);
              const begun = starts.toSorted((x, y) => x - y);
              for (const [index, start] of begun.entries()) home.addTurn('s', index + 1, start, null);
              const insert = `INSERT INTO request (message, request, payer, copied, born, side_chain, replayed, at, cwd, branch,
              model, input, output, cache_write_5m, cache_write_1h, cache_read, web_searches, speed, geo, nano)
            VALUES (:message, '', 'a', 0, 0, 0, 0, :at, '', '', 'm', 0, 0, 0, 0, 0, 0, '', '', :nano)`;
              for (const [index, at] of ats.entries()) {
                home.store.run(insert, { message: String(index), at, nano: 2 ** index });
              }
              const { turns, outside } = home.ledger.turnCosts('s');
              const bits = (from: number, until: number) =>
                ats.reduce((sum, at, index) => sum + (at >= from && at < until ? 2 ** index : 0), 0);
              expect(outside.nano).toBe(bits(-1, begun[0] ?? Number.POSITIVE_INFINITY));
              expect([...turns].map(([n, { nano }]) => [n, nano])).toEqual(
                begun.map((start, index) => [
                  index + 1,
                  bits(start, begun[index + 1] ?? Number.POSITIVE_INFINITY),
                ]),
              );
              const parts = [...turns.values()].reduce((sum, { nano }) => sum + nano, outside.nano);
              expect(home.ledger.sessionCost('s').ownUsd).toBe(parts / 1e9);
            } finally {
              home.remove();
            }
          },
        ),
        { numRuns: 40 },
      );
    },
    TIMEOUT,
  );
});
