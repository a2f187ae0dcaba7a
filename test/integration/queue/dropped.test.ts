import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue, type TestSession } from '../../support/queue.ts';
import type { TestRepository } from '../../support/repository.ts';

const SECRET = { secret: 'hunter2\n' };

/** A session that was made while the base had a commit that the person has taken away since. */
function builtOnSecret(demo: TestRepository, queue: TestQueue): TestSession {
  demo.commit(SECRET, 'Oops, a secret');
  const session = queue.session('Work', { files: { work: '1\n' } });
  demo.git('reset', '--quiet', '--hard', 'HEAD~1');
  return session;
}

describe('commits that were taken off the base', () => {
  it.each(['merge', 'squash', 'rebase'] as const)(
    'do not come back by a %s unasked, are named, and come back when landed again',
    async (method) => {
      const demo = demoWith();
      const queue = TestQueue.open(demo);
      const session = builtOnSecret(demo, queue);
      await queue.land(session, { method });
      const { message } = await queue.until(session, 'failed');
      expect(queue.entry(session)).toMatchObject({ reason: 'base-rewound', tries: 0 });
      expect(message).toContain('Oops, a secret');
      expect(message).not.toContain('Work of');
      expect(queue.record(session).demand).toMatchObject({ kind: 'landing-stopped', message });
      expect(demo.log('main')).toEqual(['Start']);
      await queue.landed(session, { method });
      expect(demo.show('main', 'secret')).toBe('hunter2\n');
    },
  );

  it('stay away when the branch is rebased as the message says', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = builtOnSecret(demo, queue);
    await queue.land(session);
    const { message } = await queue.until(session, 'failed');
    const command = / git -C \S+ (rebase --onto main \w+)\./.exec(message ?? '')?.[1] ?? '';
    session.work.git(...command.split(' '));
    await queue.landed(session);
    expect([demo.show('main', 'work'), demo.tryGit('show', 'main:secret').exitCode]).toEqual(['1\n', 128]);
  });

  it('are told of for each session, and those that were not told of stop it again', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const [one, two] = [builtOnSecret(demo, queue), 'Two'];
    demo.commit(SECRET, 'Oops, again');
    const other = queue.session(two, { files: { two: '1\n' } });
    demo.git('reset', '--quiet', '--hard', 'HEAD~1');
    await queue.land(one);
    await queue.until(one, 'base-rewound');
    await queue.land(other);
    expect((await queue.until(other, 'failed')).message).toContain('Oops, again');
    // What was said yes to holds for those commits alone.
    demo.commit({ more: '1\n' }, 'Another secret');
    one.work.git('merge', '--quiet', '-m', 'Merge', 'main');
    demo.git('reset', '--quiet', '--hard', 'HEAD~1');
    await queue.land(one);
    expect((await queue.until(one, 'failed')).message).toContain('Another secret');
    await queue.landed(one);
  });

  it('are known from the reflog when the branch took them over after its start', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Work', { files: { work: '1\n' } });
    demo.commit(SECRET, 'Oops, a secret');
    session.work.git('merge', '--quiet', '-m', 'Up to date', 'main');
    demo.git('reset', '--quiet', '--hard', 'HEAD~1');
    await queue.land(session);
    expect((await queue.until(session, 'base-rewound')).message).toContain('Oops, a secret');
  });

  it('are known from the start of the session when there is no reflog', async () => {
    const demo = demoWith();
    demo.config('core.logAllRefUpdates', 'false');
    demo.git('reflog', 'expire', '--expire=all', '--all');
    const queue = TestQueue.open(demo);
    const session = builtOnSecret(demo, queue);
    await queue.land(session);
    expect((await queue.until(session, 'base-rewound')).message).toContain('Oops, a secret');
  });

  it.each([
    ['merge', 'base-rewound'],
    ['squash', 'landed'],
    ['rebase', 'landed'],
  ] as const)('that only got another message are stopped by a %s: %s', async (method, end) => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    demo.commit({ a: '1\n' }, 'Tpyo');
    const session = queue.session('Work', { files: { work: '1\n' } });
    demo.git('commit', '--quiet', '--amend', '-m', 'Typo');
    await queue.land(session, { method });
    await queue.until(session, end);
    expect(demo.log('main').filter((subject) => subject === 'Tpyo')).toEqual([]);
  });

  it('stop a landing on a remote that was rewound, also when the local base has them still', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    const queue = TestQueue.open(demo);
    demo.commit(SECRET, 'Oops, a secret');
    demo.git('push', '--quiet', 'origin', 'main');
    const session = queue.session('Work', { files: { work: '1\n' } });
    remote.git('update-ref', 'refs/heads/main', 'main~1');
    await queue.land(session, { to: 'remote' });
    const { message } = await queue.until(session, 'failed');
    expect(queue.entry(session).reason).toBe('base-rewound');
    expect(message).toMatch(
      /^origin\/main no longer has a commit .* Oops, a secret\. .* --onto origin\/main /,
    );
    expect(remote.log('main')).toEqual(['Start']);
  });

  it('stop a landing on a remote that never had them, when the local base has lost them', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    const queue = TestQueue.open(demo);
    const session = builtOnSecret(demo, queue);
    await queue.land(session, { to: 'remote' });
    expect((await queue.until(session, 'base-rewound')).message).toContain('Oops, a secret');
    expect(remote.log('main')).toEqual(['Start']);
  });

  it('are not confused with those that are only not pulled yet', async () => {
    const demo = demoWith();
    demo.withRemote();
    demo.commit({ theirs: '1\n' }, 'Theirs');
    demo.git('push', '--quiet', 'origin', 'main');
    demo.git('update-ref', 'refs/heads/main', 'main~1');
    demo.git('reflog', 'expire', '--expire=all', 'refs/heads/main');
    demo.git('reset', '--quiet', '--hard');
    const queue = TestQueue.open(demo);
    const session = queue.session('Work', { from: 'origin/main', files: { work: '1\n' } });
    await queue.landed(session, { to: 'local' });
    expect(demo.show('main', 'theirs')).toBe('1\n');
  });

  it('are not confused with those that are only not pushed yet', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    demo.commit({ mine: '1\n' }, 'Mine');
    const queue = TestQueue.open(demo);
    const session = queue.session('Work', { files: { work: '1\n' } });
    await queue.landed(session, { to: 'remote', withLocalCommits: true });
    expect(remote.show('main', 'mine')).toBe('1\n');
  });
});
