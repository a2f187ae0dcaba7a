import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

describe('waiting for a landing', { timeout: 120_000 }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  let session: Session;

  beforeEach(async () => {
    repository = TestRepository.with({ 'a.txt': 'a\n' });
    fairlead = new SidecarHarness(repository.environment);
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
      cwd: repository.folder,
    });
    session = made.session;
    repository.at(session.worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });

  const land = (...args: string[]) =>
    fairlead.run(['land', session.id, '--to', 'local', ...args], { cwd: repository.folder });

  it('fails for what was never queued', async () => {
    expect(await fairlead.error(['wait', session.id, '--for', 'landed'])).toMatchObject({
      code: 'land.not-landed',
      message: `${session.id} has not landed: it was never queued.`,
      exit: 1,
    });
  });

  it('fails for what left the queue otherwise, with the reason, and says so while it lands', async () => {
    repository.commit({ 'a.txt': 'of the person\n' }, 'Other work');
    const failed = await land('--json');
    expect(failed.code).toBe(1);
    const entry = JSON.parse(failed.stdout) as QueueEntry;
    expect(entry).toMatchObject({ state: 'failed', reason: 'conflict' });
    const error = await fairlead.error(['wait', session.id, '--for', 'landed']);
    expect(error).toMatchObject({ code: 'land.not-landed', exit: 1 });
    expect(error.message).toContain(entry.message?.replace(/\.$/, ''));
  });

  it('ends when it has landed, and land says how it gets there', async () => {
    const landed = await land('--check', 'sleep 1');
    expect(landed.code).toBe(0);
    expect(landed.stdout).toContain('landed on main');
    expect(landed.stderr.split('\n')).toEqual(expect.arrayContaining(['checking']));
    expect(await fairlead.json(['wait', session.id, '--for', 'landed'])).toMatchObject({
      facts: { landing: 'landed' },
    });
  });
});
