import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CostRow } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

interface Made {
  session: Session;
  attempts: Session[];
  notes: string[];
}

describe('several attempts at one prompt', { timeout: 120_000 }, () => {
  it('are one family, each with its own branch, from one commit, and cost together what the family did', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello.');
    world.model.when(prompt('say hello')).says('Hello to you.');
    const { session, attempts } = await world.json<Made>('new', 'say hello', '--attempts', '2');
    const [first, second] = attempts;
    if (first === undefined || second === undefined) throw new Error('two attempts');
    expect(session.id).toBe(first.id);
    expect(attempts.map(({ family, branch }) => [family, branch])).toEqual([
      [first.id, 'fairlead/say-hello'],
      [first.id, 'fairlead/say-hello-2'],
    ]);
    await Promise.all(attempts.map(({ id }) => world.finished(id)));
    const { rows, total } = await world.json<{ rows: CostRow[]; total: CostRow }>('cost', '--by', 'family');
    expect(rows).toMatchObject([{ group: first.id, requests: total.requests, ownUsd: total.ownUsd }]);
    const told = await world.fairlead.run(['cost', '--by', 'family']);
    expect(told.stdout).toMatch(/^FAMILY .* TITLE$/m);
    expect(told.stdout).toMatch(new RegExp(`^${first.id} .* say hello$`, 'm'));
    const own = (await Promise.all(attempts.map(({ id }) => world.fairlead.show(id)))).map(
      ({ cost }) => cost.ownUsd,
    );
    expect(own.every((usd) => usd > 0)).toBe(true);
    expect(total.ownUsd).toBeCloseTo(
      own.reduce((sum, usd) => sum + usd, 0),
      12,
    );
  });

  it('are compared with each other, uncommitted work included, and no object of it stays behind', async () => {
    await using world = await World.open();
    const { attempts } = await world.json<Made>('new', '--no-start', '--attempts', '2', '--title', 'Try it');
    const [one, other] = attempts;
    if (one === undefined || other === undefined) throw new Error('two attempts');
    writeFileSync(join(one.worktree, 'only-one.txt'), 'one\n');
    writeFileSync(join(one.worktree, 'README.md'), '# Demo of one\n');
    writeFileSync(join(other.worktree, 'README.md'), '# Demo of the other\n');
    const before = world.repository.git('count-objects', '-v');
    const { text } = await world.json<{ text: string }>('diff', one.id, other.id);
    expect(text).toContain('-# Demo of one\n+# Demo of the other\n');
    expect(text).toContain('deleted file mode 100644\n');
    const stat = await world.json<{ text: string }>('diff', other.id, one.id, '--stat');
    expect(stat.text).toBe('         +1 -1  README.md\n         +1 -0  only-one.txt (added)\n2 files, +2 -1');
    expect(world.repository.git('count-objects', '-v')).toBe(before);
    expect(readFileSync(join(one.worktree, 'README.md'), 'utf8')).toBe('# Demo of one\n');
    expect(world.repository.at(one.worktree).status()).toContain('?? only-one.txt');
  });

  it('keep their numbers, whichever branches were free and once others are archived', async () => {
    await using world = await World.open();
    world.repository.git('branch', 'fairlead/try-it-2');
    const { attempts } = await world.json<Made>('new', '--no-start', '--attempts', '11', '--title', 'Try it');
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(attempts[1]?.branch).toBe('fairlead/try-it-3');
    await world.json('archive', attempts[1]?.id ?? '');
    const [third, alone] = [attempts[2]?.id ?? '', await world.json<Made>('new', '--no-start', 'Alone')];
    expect((await world.fairlead.show(third)).attempt).toBe(3);
    expect(alone.session.attempt).toBeNull();
  });

  it('have no key in common, and are at most sixteen', async () => {
    await using world = await World.open();
    expect(await world.error('new', '--no-start', '--attempts', '2', '--key', 'k', 'x')).toMatchObject({
      code: 'params.invalid',
    });
    for (const wrong of ['0', '17', '1.5', 'many']) {
      expect(await world.error('new', '--no-start', '--attempts', wrong, 'x')).toMatchObject({
        code: 'usage',
      });
    }
    expect(await world.json('ls')).toEqual([]);
  });
});
