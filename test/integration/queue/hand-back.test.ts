import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { OpenQueueOptions } from '../../support/open-queue.ts';
import { demoWith, TestQueue, type TestSession } from '../../support/queue.ts';
import type { Files, TestRepository } from '../../support/repository.ts';

interface Scene {
  demo: TestRepository;
  queue: TestQueue;
  session: TestSession;
}

const MINE = { shared: 'a\nmine\nc\n', own: 'own\n' };
const THEIRS = { shared: 'a\ntheirs\nc\n', beside: 'new\n' };
const BOTH = { shared: 'a\nmine\ntheirs\nc\n' };

/** A session whose work conflicts with what its base has got meanwhile, in `shared`. */
function scene(more: Partial<OpenQueueOptions> = {}, files: { mine?: Files; theirs?: Files } = {}): Scene {
  const demo = demoWith({ shared: 'a\nb\nc\n', beside: 'old\n', mine: '1\n' });
  const queue = TestQueue.open(demo, more);
  const session = queue.session('Change', { files: files.mine ?? MINE });
  demo.commit(files.theirs ?? THEIRS, 'Say it their way');
  return { demo, queue, session };
}

async function handedBack(more: Partial<OpenQueueOptions> = {}): Promise<Scene> {
  const set = scene(more);
  await set.queue.land(set.session);
  await set.queue.asked(set.session);
  return set;
}

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 25_000, interval: 10 });

function commitMerge({ work }: TestSession, files: Files): void {
  work.write(files);
  work.git('add', '--all');
  work.git('commit', '--quiet', '--no-edit');
}

const mergeHead = ({ work }: TestSession) =>
  work.tryGit('rev-parse', '--verify', '--quiet', 'MERGE_HEAD').stdout;

describe('a conflict', () => {
  it('goes back to its agent with both intents, keeps number and age, and lands when it is resolved', async () => {
    const { demo, queue, session } = scene();
    const other = queue.session('Other', { files: { other: '1\n' } });
    const queued = await queue.land(session);
    await queue.landed(other);
    const entry = await queue.asked(session);
    expect(entry).toMatchObject({
      id: queued.id,
      state: 'handed-back',
      reason: 'conflict',
      paths: ['shared'],
      position: 1,
      tries: 1,
      queuedAt: queued.queuedAt,
      handBack: { phase: 'asked', try: 1, maxTries: 2 },
    });
    await eventually(() => queue.entry(session).message).toBe(
      'It conflicts with main in shared; its agent resolves that (try 1 of 2).',
    );
    expect(queue.record(session)).toMatchObject({ landing: 'resolving', demand: null });
    expect(session.work.read('shared')).toContain('<<<<<<< HEAD\nmine\n');
    expect(session.work.read('beside')).toBe('new\n');
    const [prompt = ''] = queue.prompts(session);
    expect(prompt).toContain('\n- shared\n');
    expect(prompt).toContain('Your side (HEAD) is your own work: Change\n');
    expect(prompt).toMatch(/\n> [0-9a-f]{10} Say it their way\n/);
    expect(prompt).toContain('GIT_EDITOR=true git commit --no-edit');
    expect(prompt).not.toContain('Other');

    await queue.turn(session, () => commitMerge(session, BOTH));
    const landed = await queue.until(session, 'landed');
    expect(landed).toMatchObject({ id: queued.id, tries: 1, queuedAt: queued.queuedAt, handBack: null });
    expect(demo.show('main', 'shared')).toBe(BOTH.shared);
    expect(demo.show('main', 'other')).toBe('1\n');
    expect(session.work.log('HEAD')[0]).toBe('Merge main into fairlead/change');
    expect(session.work.git('log', '-1', '--format=%B')).not.toContain('Conflicts');
    expect(queue.prompts(session)).toHaveLength(1);
    expect([session.work.status(), queue.leftovers(), queue.parts.logged]).toEqual(['', [], []]);
    expect(queue.story(session)).toContain('queued: The conflict with main is resolved.');
  });

  it("is the person's at once when it is not to be handed back, or nobody can be asked", async () => {
    for (const config of [{ land: { handBack: false } }, {}]) {
      const { queue, session } = scene({ config });
      if (config.land === undefined) queue.parts.table.update(session.id, { life: 'archived' });
      await queue.land(session);
      expect(await queue.until(session, 'failed')).toMatchObject({ reason: 'conflict', tries: 1 });
      expect(queue.record(session)).toMatchObject({ landing: 'none', demand: { kind: 'conflict' } });
      expect([mergeHead(session), queue.prompts(session)]).toEqual(['', []]);
    }
  });

  it('waits for the end of a turn that began meanwhile, and touches nothing before', async () => {
    const { queue, session } = scene({
      step: (name) => {
        if (name === 'settled') queue.parts.inTurn.add(session.id);
      },
    });
    await queue.land(session);
    await eventually(() => queue.entry(session).message).toBe(
      'It conflicts with main in shared; its agent gets that when its turn has ended.',
    );
    expect([session.work.status(), mergeHead(session), queue.prompts(session)]).toEqual(['', '', []]);
    expect(queue.record(session)).toMatchObject({ landing: 'resolving', demand: null });
    queue.parts.step = () => {};
    queue.parts.inTurn.clear();
    queue.parts.queue.tick();
    await queue.asked(session);
  });

  it('waits for uncommitted work, says so, and is tried anew with it when the person lands again', async () => {
    const { demo, queue, session } = scene({
      step: (name) => {
        if (name === 'settled') session.work.write({ note: 'not yet\n' });
      },
    });
    await queue.land(session);
    await eventually(() => queue.entry(session).message).toContain(
      'its worktree has changes that are not committed: note. Commit or remove them',
    );
    expect(queue.record(session).demand?.kind).toBe('landing-stopped');
    expect([session.work.read('shared'), mergeHead(session)]).toEqual([MINE.shared, '']);
    queue.parts.step = () => {};
    await queue.land(session);
    const entry = await queue.asked(session);
    expect(entry).toMatchObject({ tries: 1, handBack: { try: 1 } });
    expect(session.work.git('log', '-1', '--format=%s', '--', 'note')).toBe('Change');
    await queue.turn(session, () => commitMerge(session, BOTH));
    await queue.until(session, 'landed');
    expect(demo.show('main', 'note')).toBe('not yet\n');
  });

  it('tells what brought the other side, and the commits that came with it, of these files alone', async () => {
    const demo = demoWith({ shared: 'a\nb\nc\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Change', { files: MINE });
    const rival = queue.session('Rival');
    rival.work.commit({ shared: 'a\ntheirs\nc\n' }, 'Say it their way\n\nIt is shorter.');
    rival.work.commit({ elsewhere: '1\n' }, 'Something else');
    await queue.landed(rival);
    await queue.land(session);
    await queue.asked(session);
    const quoted = (queue.prompts(session)[0] ?? '').split('\n').filter((line) => line.startsWith('> '));
    expect(quoted.map((line) => line.replace(/[0-9a-f]{10}/, 'ID'))).toEqual([
      "> ID Merge 'Rival' (fairlead/rival)",
      '> ID Say it their way',
      '>     It is shorter.',
    ]);
  });

  it.each(['rebase', 'cherry-pick'])('waits while a %s of somebody is open', async (operation) => {
    const { demo, queue, session } = scene({
      step: (name) => {
        if (name !== 'settled') return;
        session.work.tryGit(operation === 'rebase' ? 'rebase' : 'cherry-pick', 'main');
      },
    });
    await queue.land(session);
    await eventually(() => queue.record(session).demand?.message ?? '').toContain(
      `A ${operation} is open in the worktree`,
    );
    expect(queue.prompts(session)).toEqual([]);
    queue.parts.step = () => {};
    session.work.git(operation, '--abort');
    queue.clock.pass(10_000);
    await queue.asked(session);
    expect(queue.record(session).demand).toBeNull();
    expect(demo.log('main')).toHaveLength(2);
  });

  it('takes the merge back exactly when a file is written beside it before the agent is asked', async () => {
    let wrote = false;
    const { queue, session } = scene({
      step: (name) => {
        if (name !== 'hand-back-merged' || wrote) return;
        wrote = true;
        session.work.write({ mine: 'edited\n', fresh: 'f\n' });
      },
    });
    await queue.land(session);
    await eventually(() => queue.entry(session).message).toContain('not committed: fresh, mine');
    expect([mergeHead(session), session.work.status()]).toEqual(['', ' M mine\n?? fresh']);
    expect(session.work.read('shared')).toBe(MINE.shared);
    expect(queue.prompts(session)).toEqual([]);
    session.work.git('checkout', '--quiet', 'mine');
    session.work.write({ fresh: null });
    queue.clock.pass(10_000);
    await queue.asked(session);
  });

  it('takes the merge back when a turn begins before the agent is asked', async () => {
    const { queue, session } = scene({
      step: (name) => {
        if (name === 'hand-back-merged') queue.parts.inTurn.add(session.id);
      },
    });
    await queue.land(session);
    await eventually(() => queue.entry(session).message).toContain('when its turn has ended');
    expect([mergeHead(session), session.work.status(), queue.prompts(session)]).toEqual(['', '', []]);
  });

  it('does not overwrite a file that git ignores', async () => {
    const { queue, session } = scene(
      {},
      { mine: { ...MINE, '.gitignore': 'secret\n' }, theirs: { ...THEIRS, secret: 'theirs\n' } },
    );
    session.work.write({ secret: 'mine\n' });
    await queue.land(session);
    await eventually(() => queue.record(session).demand?.message ?? '').toContain('(secret)');
    expect([session.work.read('secret'), mergeHead(session)]).toEqual(['mine\n', '']);
  });

  it('is no try of the agent when the base moves on and it conflicts no more', async () => {
    const { demo, queue, session } = scene({
      step: (name) => {
        if (name === 'settled') queue.parts.inTurn.add(session.id);
      },
    });
    await queue.land(session);
    await queue.until(session, 'handed-back');
    queue.parts.step = () => {};
    demo.commit({ shared: 'a\nb\nc\n' }, 'Take it back');
    await queue.landed(queue.session('Other', { files: { other: '1\n' } }));
    queue.parts.inTurn.clear();
    queue.parts.queue.tick();
    expect(await queue.until(session, 'landed')).toMatchObject({ tries: 0 });
    expect(queue.prompts(session)).toEqual([]);
  });

  it('is merged again, and no try, when the base moves while the agent resolves', async () => {
    const { demo, queue, session } = await handedBack();
    demo.commit({ later: '1\n' }, 'Later');
    await queue.turn(session, () => commitMerge(session, BOTH));
    expect(await queue.until(session, 'landed')).toMatchObject({ tries: 1 });
    expect(demo.show('main', 'later')).toBe('1\n');
  });

  it('goes back once more, as a first try, when the base meanwhile conflicts with the resolution', async () => {
    const { demo, queue, session } = await handedBack();
    demo.commit({ shared: 'a\nanother\nc\n' }, 'Another way');
    await queue.turn(session, () => commitMerge(session, BOTH));
    expect(await queue.asked(session, 2)).toMatchObject({ tries: 2, handBack: { try: 1 } });
    expect(queue.prompts(session)[1]).toContain('Another way');
    await queue.turn(session, () => commitMerge(session, { shared: 'a\nmine\nanother\nc\n' }));
    await queue.until(session, 'landed');
    expect(demo.show('main', 'shared')).toBe('a\nmine\nanother\nc\n');
  });

  it('holds up nobody while it is with its agent', async () => {
    const { queue, session } = await handedBack();
    for (const title of ['Two', 'Three'])
      await queue.landed(queue.session(title, { files: { [title]: '1\n' } }));
    expect(queue.entry(session)).toMatchObject({ state: 'handed-back', position: 1 });
    expect(queue.parts.queue.isAtWork).toBe(false);
  });

  it("met by a rebase at one commit, but by no merge, is the person's", async () => {
    const { demo, queue, session } = scene(
      {},
      { mine: { shared: 'a\nmine\nc\n' }, theirs: { shared: 'a\nb\nc\nd\n' } },
    );
    session.work.commit({ shared: 'a\nb\nc\n' }, 'Back again');
    demo.commit({ shared: 'a\nB\nc\nd\n' }, 'Other line');
    await queue.land(session, { method: 'rebase' });
    const entry = await queue.until(session, 'failed', 'landed', 'nothing-to-land');
    expect(entry).toMatchObject({ state: 'failed', reason: 'conflict' });
    expect(entry.message).toContain('as it is rebased, though a merge would not.');
    expect([mergeHead(session), queue.prompts(session)]).toEqual(['', []]);
  });
});

describe('what the agent makes of it', () => {
  const NOT_DONE: [string, (session: TestSession) => void, string][] = [
    ['leaves the merge open', () => {}, 'The merge is not committed: beside, shared.'],
    [
      'commits the markers',
      ({ work }) => {
        work.git('add', '--all');
        work.git('commit', '--quiet', '--no-edit');
      },
      'Conflict markers were committed: shared.',
    ],
    [
      'gives the merge up',
      ({ work }) => work.git('merge', '--abort'),
      'The merge was given up: the branch does not have what is on main.',
    ],
    [
      'stands on another branch',
      (session) => {
        commitMerge(session, BOTH);
        session.work.git('switch', '--quiet', '-c', 'elsewhere');
      },
      'The worktree stands on elsewhere, not on fairlead/change',
    ],
    [
      'leaves the resolution uncommitted',
      (session) => {
        commitMerge(session, BOTH);
        session.work.write({ shared: 'a\nmine\nTHEIRS\nc\n' });
      },
      'Changes are left that are not committed: shared.',
    ],
  ];

  it.each(NOT_DONE)(
    'is asked for again when it %s, with what is missing, and lands then',
    async (_how, leave, missing) => {
      const { demo, queue, session } = await handedBack();
      await queue.turn(session, () => leave(session));
      expect(await queue.asked(session, 2)).toMatchObject({ tries: 2, handBack: { phase: 'asked', try: 2 } });
      expect(queue.prompts(session)[1]).toContain(missing);
      await queue.turn(session, ({ work } = session) => {
        work.tryGit('switch', '--quiet', session.branch);
        work.commit({ ...BOTH, done: 'yes\n' }, 'Resolved');
      });
      expect(await queue.until(session, 'landed')).toMatchObject({ tries: 2 });
      expect(demo.show('main', 'shared')).toBe(BOTH.shared);
      expect(queue.leftovers()).toEqual([]);
    },
  );

  it.each(NOT_DONE)('lets it go after two tries in which it %s', async (_how, leave, missing) => {
    const { queue, session } = await handedBack();
    await queue.turn(session, () => leave(session));
    await queue.asked(session, 2);
    await queue.turn(session, () => {
      if (mergeHead(session) !== '') leave(session);
    });
    const entry = await queue.until(session, 'failed');
    expect(entry).toMatchObject({ reason: 'conflict', tries: 2, handBack: null, paths: ['shared'] });
    expect(entry.message).toContain('its agent did not resolve that in 2 tries.');
    expect(entry.message).toContain(missing);
    expect(queue.record(session)).toMatchObject({ landing: 'none', demand: { kind: 'conflict' } });
    // A merge that the agent has not touched is taken back.
    expect(mergeHead(session)).toBe('');
    await queue.landed(queue.session('Other', { files: { other: '1\n' } }));
  });

  it("is the person's to judge when every file in conflict is as the branch had it", async () => {
    const { demo, queue, session } = await handedBack();
    await queue.turn(session, () => commitMerge(session, { shared: MINE.shared }));
    await eventually(() => queue.entry(session).handBack?.phase).toBe('needs-you');
    expect(queue.record(session).demand).toEqual({
      kind: 'conflict',
      message:
        'It conflicts with main in shared; its agent has kept its own side only, and dropped what main changed. ' +
        'Land again to take it so, or tell its agent what is missing: fairlead send schange TEXT.',
    });
    expect(demo.show('main', 'shared')).toBe(THEIRS.shared);
    // It is not tried again by itself, however often it is looked at.
    queue.clock.pass(60_000);
    await queue.restart();
    await queue.landed(queue.session('Other', { files: { other: '1\n' } }));
    expect(queue.entry(session)).toMatchObject({ state: 'handed-back', tries: 1 });
    await queue.land(session);
    await queue.until(session, 'landed');
    expect(demo.show('main', 'shared')).toBe(MINE.shared);
    expect(demo.show('main', 'beside')).toBe(THEIRS.beside);
  });

  it('is asked about anew when it is another by the time that the person takes it', async () => {
    const { demo, queue, session } = await handedBack();
    await queue.turn(session, () => commitMerge(session, { shared: MINE.shared }));
    await eventually(() => queue.entry(session).handBack?.phase).toBe('needs-you');
    session.work.commit({ more: '1\n' }, 'More, by hand');
    expect(await queue.land(session)).toMatchObject({
      state: 'handed-back',
      handBack: { phase: 'needs-you' },
    });
    expect(queue.record(session).demand?.kind).toBe('conflict');
    expect(demo.show('main', 'shared')).toBe(THEIRS.shared);
    await queue.land(session);
    await queue.until(session, 'landed');
    expect([demo.show('main', 'shared'), demo.show('main', 'more')]).toEqual([MINE.shared, '1\n']);
  });

  it('is looked at again after the turn by which the person has sent it back', async () => {
    const { demo, queue, session } = await handedBack();
    await queue.turn(session, () => commitMerge(session, { shared: MINE.shared }));
    await eventually(() => queue.entry(session).handBack?.phase).toBe('needs-you');
    await queue.turn(session, () => void session.work.commit(BOTH, 'Both'));
    await queue.until(session, 'landed');
    expect(demo.show('main', 'shared')).toBe(BOTH.shared);
  });

  it("is the person's to judge when what merged by itself is as the branch had it", async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, () => commitMerge(session, { ...BOTH, beside: 'old\n' }));
    await eventually(() => queue.record(session).demand?.message ?? '').toContain(
      'dropped what main changed beside the conflict in beside',
    );
    expect(queue.entry(session)).toMatchObject({ state: 'handed-back', tries: 1 });
  });

  it('may change on purpose what merged by itself', async () => {
    const { demo, queue, session } = await handedBack();
    await queue.turn(session, () => commitMerge(session, { ...BOTH, beside: 'new and more\n' }));
    await queue.until(session, 'landed');
    expect(demo.show('main', 'beside')).toBe('new and more\n');
  });

  it('fails, and says so, when it has taken commits out of its branch', async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, ({ work } = session) => {
      work.git('merge', '--abort');
      work.git('reset', '--quiet', '--hard', 'main');
      work.commit({ shared: 'anew\n' }, 'Anew');
    });
    expect((await queue.until(session, 'failed')).message).toContain(
      'has taken commits out of fairlead/change',
    );
    expect(queue.record(session).demand?.kind).toBe('conflict');
  });

  it('fails visibly when the branch is gone', async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, ({ work } = session) => {
      work.git('merge', '--abort');
      work.git('switch', '--quiet', '--detach');
      work.git('branch', '--quiet', '-D', session.branch);
    });
    expect((await queue.until(session, 'failed')).reason).toBe('branch-missing');
  });

  it('waits for the person when the worktree is gone', async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, () => rmSync(session.work.folder, { recursive: true }), 'interrupted');
    await eventually(() => queue.record(session).demand?.message ?? '').toContain('is gone');
    expect(queue.entry(session)).toMatchObject({ state: 'handed-back', tries: 1 });
    await queue.landed(queue.session('Other', { files: { other: '1\n' } }));
  });

  it('is no try when the person interrupts it, and goes on with the next turn', async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, () => {}, 'interrupted');
    await eventually(() => queue.record(session).demand?.message ?? '').toContain(
      'its agent was interrupted.',
    );
    expect(queue.entry(session)).toMatchObject({
      state: 'handed-back',
      tries: 1,
      handBack: { phase: 'needs-you' },
    });
    expect(queue.prompts(session)).toHaveLength(1);
    await queue.turn(session, () => commitMerge(session, BOTH));
    await queue.until(session, 'landed');
  });

  it('is asked for anew when the person lands again what was interrupted', async () => {
    const { queue, session } = await handedBack();
    await expect(queue.land(session)).rejects.toMatchObject({ code: 'land.already-queued' });
    await queue.turn(session, () => {}, 'interrupted');
    await eventually(() => queue.entry(session).handBack?.phase).toBe('needs-you');
    expect(await queue.land(session)).toMatchObject({ handBack: { phase: 'asked', try: 1 } });
    // The person has answered: whoever waits for the landing is not to take that for what is needed of them now.
    expect(queue.record(session)).toMatchObject({ demand: null, agent_fact: 'finished' });
    expect(await queue.asked(session, 2)).toMatchObject({ handBack: { try: 1 } });
    await queue.turn(session, () => commitMerge(session, BOTH));
    await queue.until(session, 'landed');
  });

  it('may come from the person, by hand and without a turn', async () => {
    const { queue, session } = await handedBack();
    await queue.turn(session, () => {}, 'interrupted');
    await eventually(() => queue.entry(session).handBack?.phase).toBe('needs-you');
    commitMerge(session, BOTH);
    queue.clock.pass(10_000);
    await queue.until(session, 'landed');
  });

  it('is not looked at in the middle of a turn', async () => {
    const { queue, session } = await handedBack();
    queue.beginTurn(session);
    commitMerge(session, BOTH);
    queue.clock.pass(10_000);
    await queue.landed(queue.session('Other', { files: { other: '1\n' } }));
    expect(queue.entry(session)).toMatchObject({ state: 'handed-back', handBack: { phase: 'asked' } });
    queue.endTurn(session);
    await queue.until(session, 'landed');
  });

  it('lands with the uncommitted files that it leaves beside', async () => {
    const { demo, queue, session } = await handedBack();
    await queue.turn(session, () => {
      commitMerge(session, BOTH);
      session.work.write({ notes: 'n\n' });
    });
    await queue.until(session, 'landed');
    expect(demo.show('main', 'notes')).toBe('n\n');
  });
});

describe('taken out of the queue', () => {
  it('before the agent was asked, the merge is taken back', async () => {
    const { queue, session } = scene({
      step: (name) => {
        if (name === 'hand-back-merged') queue.parts.entries.cancel(queue.entry(session).id);
      },
    });
    await queue.land(session);
    expect((await queue.until(session, 'cancelled')).message).toBe('Taken out of the queue.');
    expect([mergeHead(session), session.work.status(), queue.prompts(session)]).toEqual(['', '', []]);
    expect(queue.record(session)).toMatchObject({ landing: 'none', demand: null });
    expect(queue.leftovers()).toEqual([]);
  });

  it('while the agent resolves it, the merge is left to it, and said to be', async () => {
    const { queue, session } = await handedBack();
    const entry = await queue.cancel(session);
    expect(entry).toMatchObject({
      state: 'cancelled',
      message: 'Taken out of the queue. The merge of main stays open in its worktree.',
    });
    expect(mergeHead(session)).not.toBe('');
    expect(queue.record(session)).toMatchObject({ landing: 'none', demand: null });
  });
});
