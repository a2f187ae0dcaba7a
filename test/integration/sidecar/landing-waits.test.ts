import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

  it('ends with the reason and the next step when it cannot go on without the person', async () => {
    repository.write({ 'a.txt': 'not saved by the person\n' });
    const stuck = await land();
    expect(stuck.code).toBe(1);
    expect(stuck.stdout).toContain(`${session.id} "Work" waits: `);
    expect(stuck.stdout.match(/a\.txt/g)).toHaveLength(1);
    expect(stuck.stderr).toContain(`fairlead unqueue ${session.id}`);
    // Tried once more, and told anew: what it waited for before is no answer.
    const again = await land();
    expect(again).toMatchObject({ code: 1, stdout: stuck.stdout });
    repository.git('checkout', '--', 'a.txt');
    expect(await land()).toMatchObject({ code: 0 });
  });

  it('ends with advice when the base itself is red', async () => {
    const red = await land('--check', 'exit 1');
    expect(red.code).toBe(1);
    expect(red.stdout).toMatch(/waits: main itself is red.*It is checked again once main has moved\./);
    expect(red.stderr).toContain(`fairlead land ${session.id}`);
    expect((await fairlead.show(session.id)).state).toBe('needs-you');
  });

  it('ends after its time, and it stays queued', async () => {
    const late = await land('--check', 'exec sleep 600', '--timeout', '1');
    expect(late.code).toBe(4);
    expect(late.stderr).toMatch(/1 s have passed: .* is checking\./);
    expect(late.stderr).toContain(`fairlead unqueue ${session.id}`);
    expect((await fairlead.show(session.id)).queue).not.toBeNull();
  });

  it('says where it lands from now on, once', async () => {
    expect((await land('--no-wait')).stderr).toMatch(
      /note: main lands in this clone only from now on: kept .*config\.toml/,
    );
    await fairlead.json(['wait', session.id, '--for', 'landed']);
    repository.at(session.worktree).commit({ 'b.txt': 'b\n' }, 'More');
    expect((await land()).stderr).not.toContain('from now on');
  });

  it('says that another target than the configured one counts this time only', async () => {
    repository.withRemote();
    const config = join(fairlead.home, 'config.toml');
    writeFileSync(config, '[land]\nto = "remote"\n');
    expect((await land()).stderr).toContain(`note: This time only: [land] to is "remote" in ${config}.`);
    writeFileSync(config, '');
    repository.at(session.worktree).commit({ 'b.txt': 'b\n' }, 'More');
    expect(await fairlead.error(['land', session.id])).toMatchObject({ code: 'land.where-to-unset' });
  });

  describe('of files that are not committed', () => {
    const config = (text: string) => writeFileSync(join(fairlead.home, 'config.toml'), text);
    beforeEach(() => repository.at(session.worktree).write({ 'new.txt': 'new\n' }));

    it('is refused where nobody can be asked, and names them', async () => {
      expect(await fairlead.error(['land', session.id, '--to', 'local'])).toMatchObject({
        code: 'land.uncommitted',
        message: '1 file is not committed.',
        hint: expect.stringContaining('--yes'),
        data: ['new.txt'],
        exit: 1,
      });
      expect((await fairlead.show(session.id)).queue).toBeNull();
      expect(await land('--yes')).toMatchObject({ code: 0 });
      expect(repository.read('new.txt')).toBe('new\n');
    });

    it('commits them where the person has said so once and for all', async () => {
      config('[land]\nuncommitted = "commit"\n');
      const landed = await land();
      expect(landed).toMatchObject({ code: 0 });
      expect(landed.stderr).toContain('new.txt');
    });

    it('is refused whatever the repository says, which others write', async () => {
      repository.commit({ '.fairlead/config.toml': '[land]\nuncommitted = "commit"\n' }, 'Config');
      expect(await fairlead.error(['land', session.id, '--to', 'local'])).toMatchObject({
        code: 'land.uncommitted',
      });
    });

    it('is refused even with --yes where the configuration refuses', async () => {
      config('[land]\nuncommitted = "refuse"\n');
      expect(await fairlead.error(['land', session.id, '--to', 'local', '--yes'])).toMatchObject({
        code: 'land.uncommitted',
        data: ['new.txt'],
      });
    });
  });
});
