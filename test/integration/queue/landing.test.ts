import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';
import { PERSON } from '../../support/repository.ts';

describe('landing in this clone', () => {
  it('secures uncommitted work with the person as its author, and lands it', async () => {
    const demo = demoWith({ 'README.md': '# Demo\n', kept: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add a greeting');
    session.work.write({ 'greeting.txt': 'hello\n', kept: null });
    const entry = await queue.landed(session);

    const ada = `${PERSON.name} <${PERSON.email}>`;
    expect(demo.log('main')[0]).toBe("Merge 'Add a greeting' (fairlead/add-a-greeting)");
    expect([demo.show('main', 'greeting.txt'), demo.show('main', 'kept')]).toEqual(['hello\n', undefined]);
    expect(entry).toMatchObject({ landed: demo.tip('main'), position: null, tries: 0, message: null });
    const secured = demo.git('log', '-1', '--format=%an <%ae>|%cn <%ce>|%B', session.branch).trimEnd();
    expect(secured).toBe(`${ada}|${ada}|Add a greeting`);
    expect(demo.git('log', '-1', '--format=%an <%ae>|%b', 'main').trimEnd()).toBe(`${ada}|`);
    expect(queue.record(session)).toMatchObject({ landing: 'landed', demand: null });
    expect([demo.status(), session.work.status()]).toEqual(['', '']);
    expect(queue.leftovers()).toEqual([]);
  });

  it('puts two sessions on the base one after the other, with the changes of both', async () => {
    const demo = demoWith({ one: '1\n2\n3\n4\n5\n' });
    const queue = TestQueue.open(demo);
    const first = queue.session('First', { files: { one: 'first\n2\n3\n4\n5\n' } });
    const second = queue.session('Second', { files: { one: '1\n2\n3\n4\nsecond\n' } });
    await Promise.all([queue.land(first), queue.land(second)]);
    await queue.until(first, 'landed');
    await queue.until(second, 'landed');
    expect(demo.show('main', 'one')).toBe('first\n2\n3\n4\nsecond\n');
    expect(demo.log('main')).toEqual([
      "Merge 'Second' (fairlead/second)",
      "Merge 'First' (fairlead/first)",
      'Start',
    ]);
  });

  it('squashes', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Two commits', { files: { a: '1\n' } });
    session.work.commit({ b: '2\n' }, 'More');
    demo.commit({ c: '3\n' }, 'Meanwhile');
    const meanwhile = demo.tip();
    await queue.landed(session, { method: 'squash' });
    expect(demo.git('rev-parse', 'main^@')).toBe(meanwhile);
    expect(demo.git('ls-tree', '--name-only', 'main').split('\n')).toEqual(['README.md', 'a', 'b', 'c']);
  });

  it('rebases, with each commit and its author kept', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Two commits');
    session.work.commit({ a: '1\n' }, 'One', { GIT_AUTHOR_NAME: 'Grace', GIT_AUTHOR_EMAIL: 'g@example.com' });
    session.work.commit({ b: '2\n' }, 'Two');
    demo.commit({ c: '3\n' }, 'Meanwhile');
    await queue.landed(session, { method: 'rebase' });
    expect(demo.git('log', '--format=%an: %s', 'main').split('\n')).toEqual([
      'Ada Lovelace: Two',
      'Grace: One',
      'Ada Lovelace: Meanwhile',
      'Ada Lovelace: Start',
    ]);
  });

  it('moves a base that is checked out nowhere', async () => {
    const demo = demoWith();
    demo.branch('elsewhere');
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session);
    expect([demo.show('main', 'a'), demo.read('a'), demo.status()]).toEqual(['1\n', undefined, '']);
  });

  it('moves the base together with the folder that has it checked out, and the next commit there reverts nothing', async () => {
    const demo = demoWith({ old: 'o\n', mine: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { new: 'n\n', old: null } });
    demo.write({ mine: '2\n' });
    await queue.landed(session);
    expect([demo.read('new'), demo.read('old'), demo.status()]).toEqual(['n\n', undefined, ' M mine']);
    const landed = demo.tip('main');
    demo.git('commit', '--quiet', '--all', '-m', 'What the person did');
    expect(demo.git('diff', '--name-only', landed, 'main')).toBe('mine');
  });

  it('moves a base that another worktree has checked out', async () => {
    const demo = demoWith();
    demo.branch('elsewhere');
    demo.git('worktree', 'add', '--quiet', join(demo.root, 'on-main'), 'main');
    const home = demo.at(join(demo.root, 'on-main'));
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session);
    expect([home.read('a'), home.status(), demo.read('a')]).toEqual(['1\n', '', undefined]);
  });

  it('signs what it commits when the person has it so', async () => {
    const demo = demoWith();
    const start = demo.tip();
    const key = join(demo.root, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', PERSON.email, '-f', key]);
    const allowed = join(demo.root, 'allowed');
    writeFileSync(allowed, `${PERSON.email} ${readFileSync(`${key}.pub`, 'utf8')}`);
    demo
      .config('gpg.format', 'ssh')
      .config('user.signingKey', key)
      .config('commit.gpgSign', 'true')
      .config('gpg.ssh.allowedSignersFile', allowed);
    const queue = TestQueue.open(demo);
    const session = queue.session('Signed');
    session.work.write({ a: '1\n' });
    await queue.landed(session);
    const signed = demo.git('log', '--format=%G? %s', `${start}..main`).split('\n');
    expect(signed).toEqual(["G Merge 'Signed' (fairlead/signed)", 'G Signed']);
  });
});
