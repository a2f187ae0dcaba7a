import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { prompt } from '../../support/model/story.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 120_000;

describe('what the person is told to do next', { timeout: TIMEOUT }, () => {
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
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });
  const run = (...args: string[]) => fairlead.run(args, { cwd: repository.folder });

  it('after a conflict is to have it resolved, by land and by show, with each path once', async () => {
    const { id } = session;
    repository.at(session.worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
    repository.commit({ 'a.txt': 'of the person\n' }, 'Other work');
    const landed = await run('land', id, '--to', 'local');
    expect(landed.code).toBe(1);
    expect(landed.stdout).toBe(`${id} "Work" failed: It conflicts with main in a.txt.\n`);
    const next = `fairlead send ${id} "Merge main into this branch and resolve the conflicts"`;
    expect(landed.stderr).toContain(next);
    const shown = await run('show', id);
    expect(shown.stdout).toContain(next);
    expect(shown.stdout).toContain(`fairlead land ${id}`);
  });

  it('of a session that was stopped in the queue says that it is still queued', async () => {
    const { id, worktree } = session;
    repository.at(worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
    await fairlead.json(['land', id, '--to', 'local', '--check', 'exec sleep 600', '--no-wait']);
    await fairlead.until(id, ({ queue }) => queue !== null);
    const stopped = await run('stop', id);
    expect(stopped).toMatchObject({ code: 0, stdout: `${id} was stopped.\n` });
    expect(stopped.stderr).toContain('still queued');
    expect(stopped.stderr).toContain(`fairlead unqueue ${id}`);
    expect((await run('unqueue', id)).stdout).toBe(`${id} "Work" was taken out of the queue.\n`);
    expect((await run('stop', id)).stderr).toBe('');
  });

  it('of an archived session says that its worktree was removed, and what its agent never got', async () => {
    const { id, worktree } = session;
    expect(await run('archive', id)).toMatchObject({
      stdout: `${id} is archived.\n`,
      stderr: 'note: Its agent never got this prompt:\n> Work\n',
    });
    expect((await run('show', id)).stdout).toContain(`removed (was ${worktree})`);
  });

  it('before unsaved files can be put away is to land them, or to go where they are', async () => {
    const { id, worktree } = session;
    repository.at(worktree).write({ 'b.txt': 'b\n' });
    const refused = await run('archive', id);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('b.txt');
    expect(refused.stderr).toContain(`fairlead land ${id} --yes`);
    expect(refused.stderr).toContain(`fairlead attach ${id} --pane shell`);
    await fairlead.json(['land', id, '--yes', '--to', 'local'], { cwd: repository.folder });
    expect((await run('archive', id)).code).toBe(0);
  });

  it('before commits that no branch has can be put away is to keep them on one', async () => {
    const { id, worktree } = session;
    repository.at(worktree).git('switch', '--quiet', '--detach');
    repository.at(worktree).commit({ 'b.txt': 'b\n' }, 'Adrift');
    const refused = await run('archive', id);
    expect(refused.stderr).toContain('switch -c NAME');
    expect(refused.stderr).not.toContain('--yes');
    expect(refused.stderr).toContain(`fairlead attach ${id} --pane shell`);
  });

  it('of an entry behind one that is not queued is to land that one', async () => {
    const { id, worktree } = session;
    repository.at(worktree).commit({ 'b.txt': 'b\n' }, 'Work');
    const { session: other } = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Other'], {
      cwd: repository.folder,
    });
    const landed = await run('land', id, '--to', 'local', '--after', other.id, '--no-wait');
    expect(landed.stderr).toContain(`fairlead land ${other.id}\n`);
    await expect
      .poll(async () => (await run('show', id)).stdout, { timeout: 20_000 })
      .toContain(`fairlead land ${other.id}`);
    await run('unqueue', id);
  });

  it('of what was taken out or had nothing to land says so once', async () => {
    const { id, worktree } = session;
    repository.at(worktree).commit({ 'b.txt': 'b\n' }, 'Work');
    await fairlead.json(['land', id, '--to', 'local', '--check', 'exec sleep 600', '--no-wait']);
    await run('unqueue', id);
    // What is on the base already by other commits.
    repository.commit({ 'b.txt': 'b\n' }, 'The same');
    await run('land', id);
    const { stdout } = await run('queue', '--all');
    expect(stdout).toMatch(new RegExp(`${id} +main +taken out +\\S+ +Work$`, 'm'));
    expect(stdout).toMatch(new RegExp(`${id} +main +nothing to land +\\S+ +Work · `, 'm'));
  });

  it('after waiting in vain for what does nothing is not to see what it waits for', async () => {
    const { id } = session;
    const waited = await run('wait', id, '--for', 'needs-you', '--timeout', '0.2');
    expect(waited.code).toBe(4);
    expect(waited.stderr).toContain('waits for nothing');
    expect(waited.stderr).toContain(`fairlead show ${id}`);
  });
});

it('an agent that asks is shown with what can be answered', { timeout: TIMEOUT }, async () => {
  await using world = await World.open();
  world.model
    .when(prompt('Make it'))
    .callsTool('Bash', { command: 'mkdir made', description: 'Make it' })
    .thenCallsTool('AskUserQuestion', {
      questions: [
        {
          question: 'Which color?',
          header: 'Color',
          multiSelect: false,
          options: [
            { label: 'Red', description: 'Bright' },
            { label: 'Deep blue', description: 'Calm' },
          ],
        },
      ],
    })
    .thenSays('Made.');
  const { id } = await world.start('Make it', '--mode', 'manual');
  expect((await world.asks(id)).reason?.options).toEqual(['allow', 'deny']);
  const asked = await world.fairlead.run(['show', id]);
  expect(asked.stdout).toMatch(/options +allow · deny · deny: <why>/);
  const next = [...asked.stdout.matchAll(/^next +.*: (fairlead .*)$/gm)].map(([, command]) => command);
  expect(next).toEqual(['allow', 'deny', '"deny: <why>"'].map((word) => `fairlead answer ${id} ${word}`));
  expect((await world.error('answer', id, 'perhaps')).message).toContain(
    'It takes: allow, deny, "deny: <why>".',
  );
  const waited = await world.fairlead.run(['wait', id]);
  expect(waited.stdout).toMatch(new RegExp(`^${id} needs you: Bash: mkdir made\\n$`));
  // It cannot land before it is answered, and whoever waits for that is told.
  const landed = await world.fairlead.run(['land', id, '--to', 'local'], { cwd: world.repository.folder });
  expect(landed.code).toBe(1);
  expect(landed.stdout).toContain('waits: Its agent needs you: Bash: mkdir made');
  expect(landed.stderr).toContain(`fairlead answer ${id} "deny: <why>"`);
  expect(landed.stderr).toContain(`fairlead unqueue ${id}`);
  await world.json('unqueue', id);
  await world.json('answer', id, 'allow');
  await world.fairlead.until(id, ({ reason }) => reason?.kind === 'question' && reason.input !== undefined);
  const chosen = await world.fairlead.run(['show', id]);
  expect(chosen.stdout).toMatch(/options +Red · Deep blue/);
  expect(chosen.stdout).toContain(`fairlead answer ${id} "Red"`);
  await world.json('answer', id, 'Deep blue');
  await world.finished(id);
  const ended = await world.fairlead.run(['down', '--all']);
  expect(ended.stdout).toBe('The sidecar has ended, and one agent with it.\n');
  await world.json('up');
  expect((await world.fairlead.run(['down', '--all'])).stdout).toBe(
    'The sidecar has ended, and no agent with it.\n',
  );
});

it('a conflict is not forgotten after a prompt', { timeout: TIMEOUT }, async () => {
  await using world = await World.open({ files: { 'a.txt': 'a\n' } });
  writeFileSync(join(world.fairlead.home, 'config.toml'), '[land]\nhandBack = false\n');
  world.model.when(prompt('Do nothing')).says('Nothing was done.');
  world.model
    .when(prompt('Begin to resolve it'))
    .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/b.txt`, content: 'b\n' }))
    .thenSays('It is begun.');
  world.model.when(prompt('Say hello')).says('Hello.');
  const { id, worktree } = await world.start('Say hello', '--mode', 'acceptEdits');
  await world.finished(id);
  world.repository.at(worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
  world.repository.commit({ 'a.txt': 'of the person\n' }, 'Other work');
  const run = (...args: string[]) => world.fairlead.run(args, { cwd: world.repository.folder });
  expect((await run('land', id, '--to', 'local')).code).toBe(1);
  await world.json('send', id, 'Do nothing');
  const still = await world.fairlead.until(
    id,
    ({ state, turns, outcome }) => state === 'needs-you' && turns === 2 && outcome === 'done',
  );
  expect(still.reason).toEqual({
    kind: 'conflict',
    message: 'It conflicts with main in a.txt. Nothing has changed on its branch since.',
  });
  expect((await run('show', id)).stdout).toContain('Merge main into this branch and resolve the conflicts');
  await world.json('send', id, 'Begin to resolve it');
  await world.fairlead.until(id, ({ state, turns }) => state === 'finished' && turns === 3);
  const begun = (await run('show', id)).stdout;
  expect(begun).toMatch(/queue +failed: It conflicts with main in a\.txt\./);
  expect(begun).toContain(`When that is put right, land again: fairlead land ${id}`);
});

it('a prompt that ends Claude Code is told to be no prompt', { timeout: TIMEOUT }, async () => {
  await using world = await World.open();
  const made = await world.fairlead.run(['new', 'exit'], { cwd: world.repository.folder });
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/note: To Claude Code "exit" is .* no turn begins/),
  });
  const id = made.stdout.slice(0, 6);
  expect(await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping')).toMatchObject({
    turns: 0,
  });
});

it('a session that has finished is shown with how it goes on', { timeout: TIMEOUT }, async () => {
  await using world = await World.open();
  world.model.when(prompt('Say hello')).says('Hello.');
  const { id } = await world.start('Say hello');
  await world.finished(id);
  const shown = await world.fairlead.run(['show', id]);
  const next = [...shown.stdout.matchAll(/^next +.*: (fairlead .*)$/gm)].map(([, command]) => command);
  expect(next).toEqual([`fairlead diff ${id}`, `fairlead land ${id}`, `fairlead send ${id} "<prompt>"`]);
  const sent = await world.fairlead.run(['send', id, '/exit']);
  expect(sent.stdout).toMatch(/got the prompt|took it as a command of its own, and has ended/);
});
