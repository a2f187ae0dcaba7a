import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialogOptions } from '../../../sidecar/agents/claude/dialog.ts';
import { findTranscript } from '../../../sidecar/agents/claude/transcript-path.ts';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import type { Session, Turn } from '../../../sidecar/protocol/session.ts';
import { Attached } from '../../support/attached.ts';
import { EventStream } from '../../support/event-stream.ts';
import { prompt } from '../../support/model/story.ts';
import { gone, processesOf } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = { timeout: 120_000 };

const mkdir = (name: string) => ({ command: `mkdir ${name}`, description: 'Make a folder' });
const question = {
  questions: [
    {
      question: 'Which color?',
      header: 'Color',
      multiSelect: false,
      options: [
        { label: 'Red', description: 'warm' },
        { label: 'Blue', description: 'cool' },
      ],
    },
  ],
};

describe('what people see of an agent', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open({ env: { CLAUDE_CODE_MAX_RETRIES: '0' } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const waitFor = (goal: 'finished' | 'needs-you', session: string) =>
    world.json<Session>('wait', session, '--for', goal, '--timeout', '60');
  const turnsOf = (session: string) => world.json<Turn[]>('log', session);
  const agentPid = async (session: string) => {
    const { terminals } = await world.json<SidecarStatus>('status');
    const own = terminals.find((terminal) => terminal.session === session);
    if (own === undefined) throw new Error(`${session} has no terminal`);
    return own.pid;
  };

  it('is needed for a permission until it is given in the terminal', TIMEOUT, async () => {
    world.model.when(prompt('Make the folder one')).callsTool('Bash', mkdir('one')).thenSays('Made.');
    const { id, worktree } = await world.start('Make the folder one', '--mode', 'manual');
    const asking = await world.asks(id);
    expect(asking.reason).toEqual({
      call: expect.any(String),
      kind: 'permission',
      message: 'Bash: mkdir one',
      tool: 'Bash',
      input: mkdir('one'),
      options: ['allow', 'deny'],
    });
    await using attached = new Attached(world.fairlead, id);
    await attached.until((screen) => dialogOptions(screen).length > 0);
    await attached.press('1', (screen) => dialogOptions(screen).length === 0);
    const finished = await waitFor('finished', id);
    expect(finished).toMatchObject({ state: 'finished', reason: null, outcome: 'done' });
    expect(existsSync(join(worktree, 'one'))).toBe(true);
  });

  it('goes on without what is denied when told why, and is interrupted when not', TIMEOUT, async () => {
    world.model
      .when(prompt('Make the folder two'))
      .callsTool('Bash', mkdir('two'))
      .thenCallsTool('Bash', mkdir('three'));
    const { id, worktree } = await world.start('Make the folder two', '--mode', 'manual');
    await waitFor('needs-you', id);
    await world.json('answer', id, 'deny: call it three');
    const { reason } = await world.fairlead.until(
      id,
      (session) => session.reason?.message.includes('three') === true,
    );
    expect(reason).toMatchObject({ kind: 'permission', input: mkdir('three') });
    expect(world.model.asked('folder two').at(-1)?.conversation?.toolResults[0]?.text).toContain(
      'call it three',
    );
    await world.json('answer', id, 'deny');
    expect(await waitFor('finished', id)).toMatchObject({ outcome: 'interrupted', reason: null });
    expect(existsSync(join(worktree, 'three'))).toBe(false);
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(['interrupted']);
  });

  it('is needed for a question, and for a plan', TIMEOUT, async () => {
    world.model.when(prompt('Paint the shed')).callsTool('AskUserQuestion', question).thenSays('Blue it is.');
    world.model
      .when(prompt('Plan the shed'))
      .callsTool('ExitPlanMode', { plan: '1. Build it.' })
      .thenSays('Built.');
    const painter = await world.start('Paint the shed');
    const planner = await world.start('Plan the shed', '--mode', 'plan');
    expect((await world.asks(painter.id)).reason).toMatchObject({
      kind: 'question',
      message: 'Which color?',
      options: ['Red', 'Blue'],
    });
    expect(await world.error('archive', painter.id)).toMatchObject({
      code: 'archive.unsaved',
      message: `The agent of ${painter.id} needs you: Which color?`,
      hint: expect.stringContaining(`fairlead show ${painter.id}`),
    });
    const refused = await world.error('answer', painter.id, 'allow');
    expect(refused).toMatchObject({ code: 'answer.nothing-to-answer' });
    expect(refused.message).toContain('Red, Blue');
    await world.json('answer', painter.id, 'Blue');
    await waitFor('finished', painter.id);
    expect(world.model.asked('Paint the shed').at(-1)?.conversation?.toolResults[0]?.text).toContain(
      '"Blue"',
    );
    expect((await waitFor('needs-you', planner.id)).reason).toMatchObject({ kind: 'plan' });
    await world.json('answer', planner.id, 'allow');
    expect(await waitFor('finished', planner.id)).toMatchObject({ outcome: 'done' });
    expect((await world.error('answer', planner.id, 'allow')).code).toBe('answer.nothing-to-answer');
  });

  it('is answered only what was asked when the person read it', TIMEOUT, async () => {
    world.model
      .when(prompt('Make two folders'))
      .callsTool('Bash', mkdir('harmless'))
      .thenCallsTool('Bash', mkdir('harmful'))
      .thenSays('Made none.');
    const { id, worktree } = await world.start('Make two folders', '--mode', 'manual');
    const first = await world.asks(id);
    await world.json('answer', id, 'deny: not this', '--need', String(first.need));
    const second = await world.fairlead.until(id, ({ need }) => need !== null && need !== first.need);
    const refused = await world.error('answer', id, 'allow', '--need', String(first.need));
    expect(refused).toMatchObject({ code: 'answer.need-changed', data: { need: second.need } });
    expect(refused.message).toContain('mkdir harmful');
    expect((await world.fairlead.show(id)).need).toBe(second.need);
    await world.json('answer', id, 'deny: nor this', '--need', String(second.need));
    await waitFor('finished', id);
    expect(existsSync(join(worktree, 'harmful'))).toBe(false);
    const over = await world.error('answer', id, 'allow', '--need', String(second.need));
    expect(over.code).toBe('answer.nothing-to-answer');
  });

  it('is finished, interrupted, after Esc in an answer and in a dialog', TIMEOUT, async () => {
    world.model.when(prompt('Think for long')).says('I begin.').hangs();
    world.model.when(prompt('Make the folder four')).callsTool('Bash', mkdir('four'));
    const { id } = await world.start('Think for long', '--mode', 'manual');
    await world.model.waitFor((request) => request.conversation?.prompts.at(-1) === 'Think for long');
    const interrupted = await world.json<Session>('interrupt', id);
    expect(interrupted).toMatchObject({ state: 'finished', outcome: 'interrupted' });
    await world.json('send', id, 'Make the folder four');
    await waitFor('needs-you', id);
    expect(await world.json('interrupt', id)).toMatchObject({ state: 'finished', outcome: 'interrupted' });
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(['interrupted', 'interrupted']);
  });

  it('keeps turns and cost through /clear', TIMEOUT, async () => {
    world.model.when(prompt('Before it')).says('One.').usage({ input: 1000, output: 100 });
    world.model.when(prompt('After it')).says('Two.').usage({ input: 2000, output: 200 });
    const { id } = await world.start('Before it');
    await waitFor('finished', id);
    // The row with the cost may be written after the turn has ended.
    const before = await world.fairlead.until(id, ({ cost }) => cost.ownUsd > 0);
    expect(await world.json('send', id, '/clear')).toMatchObject({ confirmed: true });
    const cleared = await world.fairlead.until(id, ({ state }) => state === 'idle');
    expect(cleared.cost).toEqual(before.cost);
    expect(await world.json('send', id, 'After it')).toMatchObject({ confirmed: true });
    await waitFor('finished', id);
    const turns = await world.fairlead
      .until(id, ({ cost }) => cost.ownUsd > before.cost.ownUsd)
      .then(() => turnsOf(id));
    expect(turns.map(({ prompt, answer }) => [prompt, answer])).toEqual([
      ['Before it', 'One.'],
      ['After it', 'Two.'],
    ]);
    expect(turns.every(({ costUsd }) => costUsd > 0)).toBe(true);
    const { cost } = await world.fairlead.show(id);
    expect(turns.reduce((sum, { costUsd }) => sum + costUsd, 0)).toBeCloseTo(cost.ownUsd, 9);
    const conversations = new Set(
      world.model.requests
        .filter(({ conversation }) => /(Before|After) it/.test(conversation?.prompts.at(-1) ?? ''))
        .map(({ conversation }) => conversation?.sessionId),
    );
    expect(conversations.size).toBe(2);
  });

  it('is needed when its process was killed, and goes on with its conversation', TIMEOUT, async () => {
    world.model.when(prompt('Remember the sum')).says('It is 42.');
    world.model.when(prompt('Work on for ever')).says('I work.').hangs();
    world.model.when(prompt('What was the sum')).says('42.');
    const { id } = await world.start('Remember the sum');
    await waitFor('finished', id);
    await world.json('send', id, 'Work on for ever');
    // The agent tells of a prompt before it writes it down.
    const { conversation } = await world.model.waitFor(
      (request) => request.conversation?.prompts.at(-1) === 'Work on for ever',
    );
    const transcript = findTranscript(world.claude.configDir, conversation?.sessionId ?? '') ?? '';
    await expect
      .poll(() => readFileSync(transcript, 'utf8'), { timeout: 15_000 })
      .toContain('Work on for ever');
    const pid = await agentPid(id);
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    const ended = await waitFor('needs-you', id);
    expect(ended).toMatchObject({ reason: { kind: 'agent-ended' }, outcome: 'interrupted' });
    expect(ended.reason?.message).toContain('SIGKILL');
    expect(await world.json('send', id, 'What was the sum')).toMatchObject({ confirmed: true });
    await waitFor('finished', id);
    expect(world.model.asked('What was the sum').at(-1)?.conversation?.prompts).toEqual([
      'Remember the sum',
      'Work on for ever',
      'What was the sum',
    ]);
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(['done', 'interrupted', 'done']);
  });

  it('is needed after an API error, and the next prompt goes on', TIMEOUT, async () => {
    world.model.when(prompt('Ask the broken server')).alwaysFailsWith(500, 'the server is down');
    world.model.when(prompt('Ask it again')).says('It answers.');
    const { id } = await world.start('Ask the broken server');
    const failed = await waitFor('needs-you', id);
    expect(failed).toMatchObject({ reason: { kind: 'api-error' }, outcome: 'failed' });
    expect(failed.reason?.message).toContain('the server is down');
    expect(await world.error('answer', id, 'allow')).toMatchObject({
      code: 'answer.nothing-to-answer',
      hint: `When that is over, let it go on: fairlead send ${id} "Go on"`,
    });
    expect(await world.json('send', id, 'Ask it again')).toMatchObject({ confirmed: true });
    expect(await waitFor('finished', id)).toMatchObject({ reason: null, outcome: 'done' });
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(['failed', 'done']);
  });

  it('is needed for a login that is no longer good', TIMEOUT, async () => {
    world.model.when(prompt('Ask without a key')).alwaysFailsWith(401, 'invalid x-api-key');
    const { id } = await world.start('Ask without a key');
    // The terminal tells of the login, a hook of the turn's end, one a moment after the other.
    await world.fairlead.until(id, ({ outcome, reason }) => outcome === 'failed' && reason?.kind === 'login');
    // Its turn has ended, if badly: nothing keeps its worktree.
    expect(await world.json('archive', id)).toMatchObject({ state: 'archived' });
  });

  it('sleeps when the person leaves the agent, and wakes with the next prompt', TIMEOUT, async () => {
    world.model.when(prompt('Say one')).says('One.');
    world.model.when(prompt('Say two')).says('Two.');
    const { id } = await world.start('Say one');
    await waitFor('finished', id);
    await using attached = new Attached(world.fairlead, id);
    await attached.shows('One.');
    attached.type('/exit');
    await attached.shows('/exit');
    attached.type('\r');
    const sleeping = await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping');
    expect(sleeping).toMatchObject({ state: 'sleeping', reason: null });
    expect(await world.json('send', id, 'Say two')).toMatchObject({ confirmed: true });
    await waitFor('finished', id);
    expect(world.model.asked('Say two').at(-1)?.conversation?.prompts).toEqual(['Say one', 'Say two']);
  });

  it('is seen to need the person within a second of the event', TIMEOUT, async () => {
    const rounds = 6;
    const story = world.model.when(prompt('Make many folders')).callsTool('Bash', mkdir('m0'));
    for (let n = 1; n < rounds; n += 1) story.thenCallsTool('Bash', mkdir(`m${n}`));
    story.thenSays('Made.');
    await using events = new EventStream(world.fairlead);
    const { id } = await world.start('Make many folders', '--mode', 'manual');
    const latencies: number[] = [];
    for (let n = 0; n < rounds; n += 1) {
      const asked = await events.until(
        ({ session, state, message }) =>
          session === id && state === 'needs-you' && message.endsWith(`mkdir m${n}`),
      );
      // A need begins with the file of the event that tells it; the terminal's word may come before.
      const { since } = await world.fairlead.show(id);
      latencies.push(asked.seenAt - since);
      await world.json('answer', id, 'allow');
    }
    await waitFor('finished', id);
    latencies.sort((a, b) => a - b);
    const median = latencies[Math.floor(latencies.length / 2)] ?? Number.NaN;
    console.log(`from event to state: median ${median} ms, all ${latencies.join(', ')} ms`);
    expect(median).toBeLessThan(1_000);
  });
});

describe('a repository that the agent does not trust', () => {
  for (const by of ['the command line', 'hand in the terminal'] as const) {
    it(`raises one question for three sessions, answered by ${by}`, TIMEOUT, async () => {
      await using world = await World.open({ trusted: false });
      const names = ['ant', 'bee', 'cat'];
      for (const name of names) world.model.when(prompt(`Draw a ${name}`)).says(`A ${name}.`);
      const sessions = await Promise.all(names.map((name) => world.start(`Draw a ${name}`)));
      const ids = sessions.map(({ id }) => id);
      for (const id of ids) {
        const asking = await world.needsYou(id);
        expect(asking.reason).toMatchObject({
          kind: 'trust',
          message: expect.stringContaining('Asked once for each repository'),
          options: ['allow', 'deny'],
        });
        expect((await world.fairlead.run(['show', id])).stdout).toContain(`fairlead answer ${id} allow`);
      }
      const { terminals } = await world.json<SidecarStatus>('status');
      expect(terminals).toHaveLength(1);
      expect(world.repository.git('worktree', 'list').split('\n')).toHaveLength(1);
      const [first, second] = ids;
      if (first === undefined || second === undefined) throw new Error('no session');
      if (by === 'the command line') {
        await world.json('answer', second, 'allow');
      } else {
        await using attached = new Attached(world.fairlead, first);
        await attached.until((screen) => dialogOptions(screen).length > 0);
        // The first choice is not to trust it.
        await attached.press('\u001b[B', (screen) => screen.join('\n').includes('❯ Yes'));
        await attached.press('\r', (screen) => !screen.join('\n').includes('❯ Yes'));
        await world.fairlead.until(first, ({ reason }) => reason === null);
      }
      for (const id of ids) {
        expect(await world.json('wait', id, '--for', 'finished', '--timeout', '60')).toMatchObject({
          turns: 1,
          outcome: 'done',
        });
      }
      const after = await world.json<SidecarStatus>('status');
      expect(after.terminals.map(({ session }) => session).sort()).toEqual([...ids].sort());
    });
  }

  it(
    'says what the agent asks before, or that it ended, instead of taking an answer for another',
    TIMEOUT,
    async () => {
      await using world = await World.open({ trusted: false, onboarded: false });
      const { id } = await world.start('Draw a yak');
      await world.needsYou(id);
      await expect(world.json('answer', id, 'allow')).rejects.toThrow(/never set up[\s\S]*fairlead attach/);

      const claude = join(world.repository.root, 'claude');
      writeFileSync(claude, '#!/bin/sh\necho Failed to connect; exit 1\n', { mode: 0o755 });
      const { terminals } = await world.json<SidecarStatus>('status');
      for (const { pid } of terminals) process.kill(pid, 'SIGKILL');
      writeFileSync(
        join(world.fairlead.home, 'config.toml'),
        `[agent]\ncommand = ${JSON.stringify(claude)}\n`,
      );
      await expect(world.json('answer', id, 'allow')).rejects.toThrow(/ended before it could ask/);
      expect(await world.fairlead.show(id)).toMatchObject({ reason: { kind: 'trust' } });
    },
  );

  it('keeps asking when it is declined, and leaves no agent behind when nobody waits', TIMEOUT, async () => {
    await using world = await World.open({ trusted: false });
    world.model.when(prompt('Draw an owl')).says('An owl.');
    const { id } = await world.start('Draw an owl');
    await world.json('answer', id, 'deny');
    expect(await world.fairlead.show(id)).toMatchObject({ state: 'needs-you', reason: { kind: 'trust' } });
    await world.json('answer', id, 'allow');
    await world.finished(id);

    await using other = await World.open({ trusted: false });
    const waiting = await other.start('Draw an elk');
    await other.needsYou(waiting.id);
    await other.json('archive', waiting.id);
    const { terminals } = await other.json<SidecarStatus>('status');
    expect(terminals).toEqual([]);
    expect(processesOf(other.repository.folder)).toEqual([]);
    expect(other.repository.git('branch', '--list', 'fairlead/*')).toBe('');
  });
});
