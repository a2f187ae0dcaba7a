import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { LedgerHome } from './ledger-home.ts';
import { answer, OTHER_LINES } from './transcript-lines.ts';

/** Nano-dollars of one output token of the default model. */
const TOKEN = 20_000;
const DAY = 86_400_000;

let home: LedgerHome;
beforeEach(() => {
  home = new LedgerHome();
  home.addSession('s1', [['a', 0]]);
  home.addSession('s2', [['b', 0]]);
});
afterEach(() => home.remove());

function write(name: string, ...lines: string[]): string {
  const path = home.path(name);
  appendFileSync(path, lines.join(''));
  return path;
}

/** Own output tokens of a session, as its cost tells them. */
function ownTokens(session: string): number {
  return Math.round((home.ledger.sessionCost(session).ownUsd * 1e9) / TOKEN);
}
function allTokens(session: string): number {
  return Math.round((home.ledger.sessionCost(session).usd * 1e9) / TOKEN);
}

function usd(outputTokens: number): number {
  return (outputTokens * TOKEN) / 1e9;
}

describe('a request', () => {
  it('counts once however many content blocks its response has', async () => {
    const line = answer({ message: 'm1', request: 'r1', session: 'a', output: 42 });
    const path = write('a.jsonl', line, ...OTHER_LINES, line, line);
    expect(await home.read([path])).toEqual({
      requests: 1,
      agentSessions: ['a'],
      malformed: 0,
      unreadable: [],
    });
    expect(home.ledger.sessionCost('s1')).toEqual({ ownUsd: 0.00084, usd: 0.00084, unpriced: 0 });
  });

  it.each([
    ['growing', [1, 7, 42]],
    ['shrinking', [42, 7, 1]],
  ])(
    'counts with the most output of its rows when they are %s, also in several reads',
    async (_, outputs) => {
      const path = home.path('a.jsonl');
      for (const output of outputs) {
        write('a.jsonl', answer({ message: 'm1', request: 'r1', session: 'a', output }));
        await home.read([path]);
      }
      expect(ownTokens('s1')).toBe(42);
    },
  );

  it('without a request id counts once by its message', async () => {
    const line = answer({ message: 'm1', session: 'a', output: 3 });
    await home.read([write('a.jsonl', line, line)]);
    await home.read([write('copy.jsonl', line)]);
    expect(ownTokens('s1')).toBe(3);
  });

  it('counts once when only some of its rows have its request id', async () => {
    await home.read([write('a.jsonl', answer({ message: 'm1', session: 'a', output: 3 }))]);
    await home.read([write('b.jsonl', answer({ message: 'm1', request: 'r1', session: 'a', output: 3 }))]);
    expect(ownTokens('s1')).toBe(3);
    expect(home.ledger.summary({ by: 'session' }).total.requests).toBe(1);
  });

  it('with the same message and another request id is another request', async () => {
    await home.read([
      write(
        'a.jsonl',
        answer({ message: 'm1', request: 'r1', session: 'a', output: 3 }),
        answer({ message: 'm1', request: 'r2', session: 'a', output: 4 }),
      ),
    ]);
    expect(ownTokens('s1')).toBe(7);
  });

  it.each([
    ['before', [true, false]],
    ['after', [false, true]],
  ])('that a side chain replays under another request id counts once, read %s', async (_, order) => {
    for (const sideChain of order) {
      await home.read([
        write(
          `${sideChain ? 'agent-1' : 'a'}.jsonl`,
          answer({ message: 'm1', request: sideChain ? 'r9' : 'r1', session: 'a', output: 5, sideChain }),
        ),
      ]);
    }
    expect(ownTokens('s1')).toBe(5);
    expect(home.ledger.summary({ by: 'session' }).total.requests).toBe(1);
  });

  it('of a subagent counts for the session that started it', async () => {
    await home.read([
      write(
        'agent-1.jsonl',
        answer({ message: 'm1', request: 'r1', session: 'a', output: 5, sideChain: true }),
      ),
    ]);
    expect(ownTokens('s1')).toBe(5);
  });

  it('of an unknown model is unpriced and in no sum', async () => {
    await home.read([
      write(
        'a.jsonl',
        answer({ message: 'm1', request: 'r1', session: 'a', output: 5 }),
        answer({ message: 'm2', request: 'r2', session: 'a', output: 5, model: 'claude-nonesuch-9' }),
      ),
    ]);
    expect(home.ledger.sessionCost('s1')).toEqual({ ownUsd: 0.0001, usd: 0.0001, unpriced: 1 });
    const { rows } = home.ledger.summary({ by: 'model' });
    expect(
      rows.map(({ group, ownUsd, unpriced, requests }) => ({ group, ownUsd, unpriced, requests })),
    ).toEqual([
      { group: 'claude-opus-5-5', ownUsd: 0.0001, unpriced: 0, requests: 1 },
      { group: 'claude-nonesuch-9', ownUsd: 0, unpriced: 1, requests: 1 },
    ]);
  });

  it('keeps both kinds of cache writes apart and the searches of its response', async () => {
    await home.read([
      write(
        'a.jsonl',
        answer({
          message: 'm',
          session: 'a',
          input: 1,
          output: 1,
          write5m: 10,
          write1h: 100,
          read: 1000,
          searches: 2,
        }),
      ),
    ]);
    // 1×4 + 1×20 + 10×5 + 100×8 + 1,000×0.2 dollars a million, and two searches.
    expect(home.ledger.sessionCost('s1').ownUsd).toBe(0.001074 + 0.02);
    expect(home.ledger.summary({ by: 'session' }).total).toMatchObject({
      inputTokens: 1,
      outputTokens: 1,
      cacheWriteTokens: 110,
      cacheReadTokens: 1000,
    });
  });

  it('that nobody can be charged with is told, not dropped silently', async () => {
    const noTime = answer({ message: 'm1', session: 'a' }).replace(/"timestamp":"[^"]*"/, '"timestamp":"?"');
    const noSession = answer({ message: 'm2', session: 'a' }).replace('"sessionId":"a"', '"sessionId":null');
    const noMessage = answer({ message: 'm3', session: 'a' }).replace('"id":"m3",', '');
    const half = answer({ message: 'm4', session: 'a', output: 0.5 });
    const broken = `${answer({ message: 'm5', session: 'a' }).slice(0, -20)}\n`;
    const read = await home.read([write('a.jsonl', noTime, noSession, noMessage, half, broken)]);
    expect(read).toMatchObject({ requests: 0, malformed: 5 });
  });
});

describe('a fork', () => {
  const parent = [
    answer({ message: 'm1', request: 'r1', session: 'a', output: 10, cwd: '/w/a', branch: 'one' }),
    answer({ message: 'm2', request: 'r2', session: 'a', output: 20, cwd: '/w/a', branch: 'one' }),
  ];
  const fork = [
    answer({
      message: 'm1',
      request: 'r1',
      session: 'b',
      paidBy: 'a',
      output: 10,
      cwd: '/w/b',
      branch: 'two',
    }),
    answer({ message: 'm3', request: 'r3', session: 'b', output: 5, cwd: '/w/b', branch: 'two' }),
  ];

  it.each([
    ['after', ['a', 'b']],
    ['before', ['b', 'a']],
  ])('read %s its parent owns what it asked and inherits what was copied', async (_, order) => {
    for (const name of order) {
      await home.read([write(`${name}.jsonl`, ...(name === 'a' ? parent : fork))]);
    }
    expect([ownTokens('s1'), allTokens('s1')]).toEqual([30, 30]);
    expect([ownTokens('s2'), allTokens('s2')]).toEqual([5, 15]);
  });

  it('counts for the branch on which it was asked, not for that of the copy', async () => {
    await home.read([write('b.jsonl', ...fork), write('a.jsonl', ...parent)]);
    const { rows, total } = home.ledger.summary({ by: 'branch' });
    expect(rows.map(({ group, ownUsd, usd }) => [group, ownUsd, usd])).toEqual([
      ['one', 0.0006, 0.0006],
      ['two', 0.0001, 0.0001],
    ]);
    expect(total).toMatchObject({ ownUsd: 0.0007, usd: 0.0007, requests: 3 });
  });

  it('of a fork inherits from both, and the family adds up', async () => {
    home.addSession('s3', [['c', 0]]);
    const grandchild = [
      answer({ message: 'm1', request: 'r1', session: 'c', paidBy: 'a', output: 10 }),
      answer({ message: 'm3', request: 'r3', session: 'c', paidBy: 'b', output: 5 }),
      answer({ message: 'm4', request: 'r4', session: 'c', output: 1 }),
    ];
    await home.read([
      write('c.jsonl', ...grandchild),
      write('a.jsonl', ...parent),
      write('b.jsonl', ...fork),
    ]);
    expect(['s1', 's2', 's3'].map(ownTokens)).toEqual([30, 5, 1]);
    expect(['s1', 's2', 's3'].map(allTokens)).toEqual([30, 15, 16]);
    expect(home.ledger.summary({ by: 'session' }).total).toMatchObject({ ownUsd: usd(36), requests: 4 });
  });

  it('of a conversation that is not known inherits it without owning it', async () => {
    await home.read([
      write('b.jsonl', answer({ message: 'm', request: 'r', session: 'b', paidBy: 'elsewhere', output: 8 })),
    ]);
    expect([ownTokens('s2'), allTokens('s2')]).toEqual([0, 8]);
    expect(home.ledger.summary({ by: 'day' }).total).toMatchObject({
      ownUsd: 0,
      usd: usd(8),
      requests: 0,
    });
  });

  it.each([
    ['at once', [['b', 'a']]],
    ['one after the other', [['b'], ['a']]],
    ['in their order', [['a'], ['b']]],
  ])(
    'whose copies are not marked leaves them with the transcript that came to be first, read %s',
    async (_, reads) => {
      const unmarked = fork.map((line) => line.replace('"requestSessionId":"a",', ''));
      write('a.jsonl', ...parent);
      // The birth times of the two differ.
      for (const start = Date.now(); Date.now() < start + 3; );
      write('b.jsonl', ...unmarked);
      for (const names of reads) await home.read(names.map((name) => home.path(`${name}.jsonl`)));
      expect([ownTokens('s1'), allTokens('s1')]).toEqual([30, 30]);
      expect([ownTokens('s2'), allTokens('s2')]).toEqual([5, 15]);
    },
  );
});

describe('a session', () => {
  it('has the cost of all its agent sessions', async () => {
    home.addSession('s3', [
      ['c1', 0],
      ['c2', 100],
      ['c1', 200],
    ]);
    await home.read([
      write('c1.jsonl', answer({ message: 'm1', session: 'c1', output: 1, at: 50 })),
      write('c2.jsonl', answer({ message: 'm2', session: 'c2', output: 2, at: 150 })),
      write('c3.jsonl', answer({ message: 'm3', session: 'c1', output: 4, at: 250 })),
    ]);
    expect(ownTokens('s3')).toBe(7);
    expect(home.ledger.summary({ by: 'session' }).total.ownUsd).toBe(usd(7));
  });

  it('that goes on with the conversation of another pays from then on', async () => {
    home.addSession('s3', [['c', 100]]);
    home.addSession('s4', [['c', 200]]);
    await home.read([
      write(
        'c.jsonl',
        answer({ message: 'm0', session: 'c', output: 1, at: 50 }),
        answer({ message: 'm1', session: 'c', output: 2, at: 199 }),
        answer({ message: 'm2', session: 'c', output: 4, at: 200 }),
      ),
    ]);
    expect([ownTokens('s3'), ownTokens('s4')]).toEqual([3, 4]);
  });

  it('that is not known has cost nothing', async () => {
    expect(home.ledger.sessionCost('nobody')).toEqual({ ownUsd: 0, usd: 0, unpriced: 0 });
    expect(home.ledger.turnCosts('nobody')).toEqual({
      turns: new Map(),
      outside: { nano: 0, requests: 0, unpriced: 0 },
    });
  });
});

describe('turns', () => {
  it('and what lies before them add up to exactly the cost of the session', async () => {
    home.addSession('s3', [
      ['c1', 0],
      ['c2', 0],
    ]);
    home.addTurn('s3', 1, 1_000, 1_900);
    home.addTurn('s3', 2, 2_000, 2_900);
    home.addTurn('s3', 3, 3_000, null);
    await home.read([
      write(
        'c1.jsonl',
        answer({ message: 'm0', session: 'c1', output: 1, at: 999 }),
        answer({ message: 'm1', session: 'c1', output: 2, at: 1_000 }),
        answer({ message: 'm2', session: 'c1', output: 4, at: 1_950 }),
        answer({ message: 'm3', session: 'c1', output: 8, at: 1_999, model: 'nonesuch' }),
      ),
      write('c2.jsonl', answer({ message: 'm4', session: 'c2', output: 16, at: 4_000 })),
      write('b.jsonl', answer({ message: 'm5', session: 'b', output: 32, at: 1_500 })),
    ]);
    expect(home.ledger.turnCosts('s3')).toEqual({
      turns: new Map([
        [1, { nano: 120_000, requests: 3, unpriced: 1 }],
        [2, { nano: 0, requests: 0, unpriced: 0 }],
        [3, { nano: 320_000, requests: 1, unpriced: 0 }],
      ]),
      outside: { nano: 20_000, requests: 1, unpriced: 0 },
    });
    expect(home.ledger.sessionCost('s3')).toEqual({ ownUsd: 0.00046, usd: 0.00046, unpriced: 1 });
  });
});

describe('a summary', () => {
  it('groups by session, the most expensive first, and by model', async () => {
    await home.read([
      write('a.jsonl', answer({ message: 'm1', session: 'a', output: 1 })),
      write('b.jsonl', answer({ message: 'm2', session: 'b', output: 2, model: 'claude-opus-5' })),
    ]);
    expect(home.ledger.summary({ by: 'session' }).rows.map(({ group }) => group)).toEqual(['s2', 's1']);
    expect(home.ledger.summary({ by: 'model' }).rows.map(({ group, ownUsd }) => [group, ownUsd])).toEqual([
      ['claude-opus-5', 0.00005],
      ['claude-opus-5-5', 0.00002],
    ]);
    expect(home.ledger.summary({ by: 'model', session: 's1' }).rows.map(({ group }) => group)).toEqual([
      'claude-opus-5-5',
    ]);
  });

  it('has zeros when there is nothing', async () => {
    expect(home.ledger.summary({ by: 'day', session: 's1' })).toEqual({
      rows: [],
      total: {
        group: 'total',
        ownUsd: 0,
        usd: 0,
        unpriced: 0,
        requests: 0,
        inputTokens: 0,
        outputTokens: 0,
        cacheWriteTokens: 0,
        cacheReadTokens: 0,
      },
    });
  });

  it('divides days at local midnight', async () => {
    const zone = process.env.TZ;
    try {
      for (const name of ['Pacific/Kiritimati', 'America/Los_Angeles', 'Asia/Kathmandu', 'UTC']) {
        process.env.TZ = name;
        const midnight = new Date(2026, 6, 2).getTime();
        await home.read([
          write(
            'a.jsonl',
            answer({ message: `${name} 1`, session: 'a', output: 1, at: midnight - 1 }),
            answer({ message: `${name} 2`, session: 'a', output: 2, at: midnight }),
            answer({ message: `${name} 3`, session: 'a', output: 4, at: midnight + DAY - 1 }),
          ),
        ]);
        expect(
          home.ledger
            .summary({ by: 'day' })
            .rows.map(({ group, ownUsd }) => [group, Math.round((ownUsd * 1e9) / TOKEN)]),
          name,
        ).toEqual([
          ['2026-07-01', 1],
          ['2026-07-02', 6],
        ]);
        expect(home.ledger.summary({ by: 'day', since: '2026-07-02' }).total.ownUsd).toBe(usd(6));
        home.store.run('DELETE FROM request');
      }
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });
});

describe('a transcript', () => {
  const one = answer({ message: 'm1', request: 'r1', session: 'a', output: 1 });
  const two = answer({ message: 'm2', request: 'r2', session: 'a', output: 2 });

  it('is read once: what was read is not read again', async () => {
    const path = write('a.jsonl', one);
    expect((await home.read([path, path])).requests).toBe(1);
    expect(await home.read([path])).toEqual({
      requests: 0,
      agentSessions: [],
      malformed: 0,
      unreadable: [],
    });
    write('a.jsonl', two);
    expect((await home.read([path])).requests).toBe(1);
    home.restart();
    expect((await home.read([path])).requests).toBe(0);
    expect(ownTokens('s1')).toBe(3);
  });

  it('whose commit fails leaves nothing of it, and is read again', async () => {
    const path = write('a.jsonl', one, two);
    home.store.run(
      "CREATE TEMP TRIGGER fail AFTER INSERT ON transcript BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    await expect(home.read([path])).rejects.toThrow('disk full');
    expect(ownTokens('s1')).toBe(0);
    home.restart();
    expect((await home.read([path])).requests).toBe(2);
    expect(ownTokens('s1')).toBe(3);
  });

  it('with a torn last line waits for the rest of it', async () => {
    const path = write('a.jsonl', one, two.slice(0, 100));
    await home.read([path]);
    expect(ownTokens('s1')).toBe(1);
    home.restart();
    write('a.jsonl', two.slice(100, -1));
    await home.read([path]);
    expect(ownTokens('s1')).toBe(1);
    write('a.jsonl', '\n');
    expect(await home.read([path])).toMatchObject({ requests: 1, malformed: 0 });
    expect(ownTokens('s1')).toBe(3);
  });

  it('that is rotated, and goes on in a new file, counts once', async () => {
    const path = write('a.jsonl', one);
    await home.read([path]);
    renameSync(path, home.path('a.old.jsonl'));
    write('a.jsonl', two);
    await home.read([path, home.path('a.old.jsonl')]);
    expect(ownTokens('s1')).toBe(3);
  });

  it('that is cut or written anew is read from its start, and what was paid stays counted', async () => {
    const path = write('a.jsonl', one, two);
    await home.read([path]);
    truncateSync(path, 0);
    await home.read([path]);
    expect(ownTokens('s1')).toBe(3);
    write('a.jsonl', two, answer({ message: 'm3', request: 'r3', session: 'a', output: 4 }));
    await home.read([path]);
    expect(ownTokens('s1')).toBe(7);
    // Longer than what was read, under the same inode.
    writeFileSync(
      path,
      `${one}${two}${answer({ message: 'm4', request: 'r4', session: 'a', output: 8 })}${one}`,
    );
    await home.read([path]);
    expect(ownTokens('s1')).toBe(15);
  });

  it('that is gone keeps its cost', async () => {
    const path = write('a.jsonl', one);
    await home.read([path]);
    rmSync(path);
    expect(await home.read([path, home.path('never.jsonl')])).toMatchObject({ requests: 0, unreadable: [] });
    expect(ownTokens('s1')).toBe(1);
  });

  it('that cannot be read is named, and the others are read', async () => {
    symlinkSync('loop.jsonl', home.path('loop.jsonl'));
    mkdirSync(home.path('folder.jsonl'));
    const read = await home.read([home.path('loop.jsonl'), home.path('folder.jsonl'), write('a.jsonl', one)]);
    expect(read.unreadable.map(({ code, data }) => [code, data])).toEqual([
      ['cost.unreadable', { path: home.path('loop.jsonl') }],
    ]);
    expect(ownTokens('s1')).toBe(1);
  });

  it('larger than a batch is taken in piece by piece', async () => {
    const filler = `${JSON.stringify({ type: 'attachment', text: 'x'.repeat(1_000_000) })}\n`;
    const lines = Array.from({ length: 40 }, (_, n) =>
      answer({ message: `m${n}`, request: `r${n}`, session: 'a', output: 1 }),
    );
    const path = write('a.jsonl', ...lines.map((line) => `${line}${filler}`));
    expect((await home.read([path])).requests).toBe(40);
    expect(ownTokens('s1')).toBe(40);
  });
});

describe('a new price table', () => {
  it('prices what was counted before', async () => {
    const price = { input: 1, output: 1, cacheWrite5m: 1, cacheWrite1h: 1, cacheRead: 1, webSearch: 0 };
    await home.read([
      write(
        'a.jsonl',
        answer({ message: 'm1', session: 'a', output: 1_000_000, model: 'ours' }),
        answer({ message: 'm2', session: 'a', output: 1_000_000 }),
      ),
    ]);
    expect(home.ledger.sessionCost('s1')).toEqual({ ownUsd: 20, usd: 20, unpriced: 1 });
    const prices = pricesWith({ models: { ours: [price], 'claude-opus-5-5': [price] } });
    await home.priceWith(prices);
    expect(home.ledger.sessionCost('s1')).toEqual({ ownUsd: 2, usd: 2, unpriced: 0 });
    await home.priceWith(pricesWith());
    expect(home.ledger.sessionCost('s1')).toEqual({ ownUsd: 20, usd: 20, unpriced: 1 });
  });
});
