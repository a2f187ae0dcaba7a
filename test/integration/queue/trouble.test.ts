import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { demoWith, TestQueue, type TestSession } from '../../support/queue.ts';
import type { TestRepository } from '../../support/repository.ts';

/** The person's commits are to be signed by a program that runs `script`. @returns the file that has a line a call */
function signsWith(demo: TestRepository, script: string): string {
  const program = join(demo.root, 'signer');
  const calls = join(demo.root, 'signer-calls');
  writeFileSync(program, `#!/bin/sh\necho called >>'${calls}'\n${script}\n`);
  chmodSync(program, 0o755);
  demo.config('gpg.program', program).config('commit.gpgSign', 'true');
  return calls;
}

/** Lets time go by until the entry has been tried so often more. */
async function tried(queue: TestQueue, session: TestSession, times: number): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    const before = queue.parts.entries.lastOf(session.id)?.troubles ?? 0;
    queue.clock.pass(600_000);
    await expect
      .poll(() => queue.parts.entries.lastOf(session.id)?.troubles, { timeout: 20_000 })
      .toBe(before + 1);
  }
}

describe('trouble', () => {
  it.each(['uncommitted work', 'the merge'])(
    'calls the person at once, in the words of gpg, when %s cannot be signed',
    async (what) => {
      const demo = demoWith();
      const queue = TestQueue.open(demo);
      const session = queue.session('Add', { files: { a: '1\n' } });
      if (what === 'uncommitted work') session.work.write({ b: '2\n' });
      const calls = signsWith(demo, 'printf "gpg: signing failed: \\033[31mNo secret key\\n" >&2; exit 2');
      await queue.land(session);
      const { message } = await queue.until(session, 'waiting');
      expect(queue.entry(session)).toMatchObject({ reason: 'signing-failed', tries: 0 });
      expect(message).toMatch(
        /could not be signed: gpg: signing failed: \[31mNo secret key Unlock your signing key/,
      );
      expect(queue.record(session).demand).toMatchObject({ kind: 'landing-stopped', message });
      expect(demo.log('main')).toEqual(['Start']);
      // Each try may ask on somebody's screen.
      const asked = readFileSync(calls, 'utf8');
      queue.clock.pass(60_000);
      await queue.parts.queue.preview(session.id);
      expect(readFileSync(calls, 'utf8')).toBe(asked);
      demo.config('commit.gpgSign', 'false');
      await queue.landed(session);
      expect(queue.record(session).demand).toBeNull();
    },
  );

  it('is waited out at growing intervals, and then the person is called', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    const lock = join(demo.folder, '.git/refs/heads/main.lock');
    writeFileSync(lock, '');
    await queue.land(session);
    await queue.until(session, 'infrastructure');
    expect(queue.record(session).demand).toBeNull();
    const waited = () => {
      const { retry_at, changed_at } = queue.parts.entries.lastOf(session.id) ?? {};
      return (retry_at ?? 0) - (changed_at ?? 0);
    };
    const waits = [waited()];
    for (let at = 0; at < 3; at += 1) {
      await tried(queue, session, 1);
      waits.push(waited());
    }
    expect(waits).toEqual([20_000, 40_000, 80_000, 160_000]);
    expect(queue.record(session).demand).toMatchObject({
      kind: 'landing-stopped',
      message: expect.stringContaining('at once when you land again'),
    });
    renameSync(lock, `${demo.root}/lock`);
    await queue.landed(session);
    expect(queue.record(session).demand).toBeNull();
  });

  it('calls the person for files of theirs that stay in the way', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: '2\n' } });
    demo.write({ a: 'mine\n' });
    await queue.land(session);
    await queue.until(session, 'folder-in-the-way');
    expect(queue.record(session).demand).toBeNull();
    await tried(queue, session, 3);
    expect(queue.record(session).demand?.kind).toBe('landing-stopped');
    demo.git('checkout', '--quiet', 'a');
    queue.clock.pass(20_000);
    await queue.until(session, 'landed');
  });

  it('with an identity that is gone calls the person at once', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    demo.config('user.useConfigOnly', 'true').config('user.name', '');
    await queue.land(session);
    await queue.until(session, 'waiting');
    expect(queue.record(session).demand?.message).toContain('git config');
  });
});

describe('a branch that is gone', () => {
  it('is told at once, with what makes it again, when it was deleted under its worktree', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    session.work.write({ b: '2\n' });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    demo.git('update-ref', '-d', `refs/heads/${session.branch}`);
    queue.parts.inTurn.clear();
    queue.parts.queue.tick();
    const { message, reason } = await queue.until(session, 'failed');
    expect([reason, queue.record(session).demand?.message]).toEqual(['branch-missing', message]);
    const command = /git -C \S+ (branch \S+ \w+)$/.exec(message ?? '')?.[1] ?? '';
    demo.git(...command.split(' '));
    await queue.landed(session);
    expect([demo.show('main', 'a'), demo.show('main', 'b')]).toEqual(['1\n', '2\n']);
    expect(existsSync(session.work.folder)).toBe(true);
  });
});

describe('work that is not where it would land from', () => {
  it('is said to be on the branch that the agent made, with the commands that bring it over', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add');
    session.work.branch('feature').commit({ a: '1\n' }, 'On a branch of its own');
    session.work.write({ b: '2\n' });
    const error = await queue.land(session).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'land.work-elsewhere',
      message: 'The worktree stands on feature, not on fairlead/add, and only that lands.',
    });
    if (!(error instanceof FairleadError)) throw error;
    for (const command of error.hint?.matchAll(/git -C \S+ ([a-z]+ [^&]+)/g) ?? []) {
      session.work.git(...(command[1] ?? '').trim().split(' '));
    }
    await queue.landed(session);
    expect([demo.show('main', 'a'), demo.show('main', 'b')]).toEqual(['1\n', '2\n']);
  });

  it('is said to be at no branch, with what brings it back', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add');
    session.work.git('switch', '--quiet', '--detach');
    const tip = session.work.commit({ a: '1\n' }, 'Adrift');
    const error = await queue.land(session).catch((thrown: unknown) => thrown);
    if (!(error instanceof FairleadError)) throw error;
    expect(error.message).toBe('The worktree stands on no branch, not on fairlead/add, and only that lands.');
    expect(tip.startsWith(/ merge (\w+)$/.exec(error.hint ?? '')?.[1] ?? 'no')).toBe(true);
  });

  it('is said to be on a branch of another name when the person renamed it', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    demo.git('branch', '-m', session.branch, 'mine');
    const error = await queue.land(session).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'land.branch-missing',
      message: 'The branch fairlead/add does not exist; its worktree stands on mine.',
    });
    if (!(error instanceof FairleadError)) throw error;
    session.work.git(...(error.hint ?? '').replace(/^.* -C \S+ /, '').split(' '));
    await queue.landed(session);
  });

  it('is said to be gone when neither branch nor worktree has any', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add');
    rmSync(session.work.folder, { recursive: true });
    await expect(queue.land(session)).rejects.toMatchObject({
      code: 'land.nothing-to-land',
      hint: expect.stringContaining('is gone'),
    });
  });
});
