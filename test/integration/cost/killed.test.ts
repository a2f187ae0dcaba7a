import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LedgerHome } from '../../unit/cost/ledger-home.ts';
import { answer } from '../../unit/cost/transcript-lines.ts';

const TOKEN = 20_000;
const KILLS = 6;

it('a ledger that is killed while it reads neither loses nor doubles a request', async () => {
  const home = new LedgerHome();
  try {
    home.addSession('parent', [['a', 0]]);
    home.addSession('fork', [['b', 0]]);
    const transcripts = [home.path('a.jsonl'), home.path('b.jsonl')];
    let told = 0;
    const tell = (count: number) => {
      for (let n = 0; n < count; n += 1, told += 1) {
        const line = { message: `m${told}`, request: `r${told}`, output: 1 };
        appendFileSync(home.path('b.jsonl'), answer({ ...line, session: 'b', paidBy: 'a' }));
        const text = answer({ ...line, session: 'a' });
        // In two writes, so that the reader meets torn lines.
        appendFileSync(home.path('a.jsonl'), text.slice(0, 200 + (told % 100)));
        appendFileSync(home.path('a.jsonl'), text.slice(200 + (told % 100)));
      }
    };
    tell(500);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'following.ts'), home.path('state.db'), ...transcripts],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const ended = once(child, 'exit');
      await once(child.stdout, 'data');
      // The kill falls somewhere into the commits that these cause.
      for (let n = 0; n <= kill; n += 1) {
        tell(50);
        await new Promise((resolve) => setImmediate(resolve));
      }
      child.kill('SIGKILL');
      expect((await ended)[1]).toBe('SIGKILL');
      home.restart();
      expect(home.store.get('PRAGMA quick_check(1)')).toEqual({ quick_check: 'ok' });
      const counted = Math.round((home.ledger.sessionCost('parent').ownUsd * 1e9) / TOKEN);
      expect(counted).toBeLessThanOrEqual(told);
    }
    await home.read(transcripts);
    const usd = (told * TOKEN) / 1e9;
    expect(home.ledger.sessionCost('parent')).toEqual({ ownUsd: usd, usd, unpriced: 0 });
    expect(home.ledger.sessionCost('fork')).toEqual({ ownUsd: 0, usd, unpriced: 0 });
  } finally {
    home.remove();
  }
});
