import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HookEvent } from '../../../../sidecar/agents/claude/hook-event.ts';
import { foldHookEvents } from '../../../../sidecar/agents/claude/hook-state.ts';
import { hookEvent } from './timeline.ts';

const bash = (command: string, fields: Partial<HookEvent> = {}): Partial<HookEvent> => ({
  toolName: 'Bash',
  toolInput: { command, description: 'run' },
  ...fields,
});

/** Events of any kind, in any order of meaning, as a strange or faulty CLI could send them. */
const anyEvents = fc
  .array(
    fc.record({
      event: fc.constantFrom(
        'SessionStart',
        'UserPromptSubmit',
        'PreToolUse',
        'PermissionRequest',
        'PostToolUse',
        'PostToolUseFailure',
        'PermissionDenied',
        'Notification',
        'Stop',
        'StopFailure',
        'SubagentStop',
        'SessionEnd',
        'OfTomorrow',
      ),
      agentSessionId: fc.constantFrom('one', 'two'),
      agentId: fc.option(fc.constantFrom('sub', 'other'), { nil: undefined }),
      promptId: fc.option(fc.constantFrom('p1', 'p2', 'p3'), { nil: undefined }),
      toolName: fc.option(fc.constantFrom('Bash', 'Write'), { nil: undefined }),
      toolInput: fc.option(fc.constantFrom<unknown>({ command: 'a' }, { command: 'b' }), { nil: undefined }),
      toolUseId: fc.option(fc.constantFrom('t1', 't2', 't3'), { nil: undefined }),
      source: fc.option(fc.constantFrom('startup', 'resume', 'clear', 'compact'), { nil: undefined }),
      backgroundTasks: fc.option(fc.nat(2), { nil: undefined }),
    }),
    { maxLength: 40 },
  )
  .map((events) =>
    events.map(({ event, ...fields }, n) => {
      const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      return { ...hookEvent(n + 1, event), ...present, name: String(n).padStart(19, '0') } as HookEvent;
    }),
  );

describe('the fold of hook events', () => {
  test('does not depend on the order in which events are read, nor on doubles', () => {
    fc.assert(
      fc.property(anyEvents, fc.infiniteStream(fc.nat()), (events, numbers) => {
        const expected = foldHookEvents(events);
        const shuffled = [...events, ...events.filter((_, n) => n % 3 === 0)]
          .map((event) => ({ event, key: numbers.next().value }))
          .sort((one, other) => one.key - other.key)
          .map(({ event }) => event);
        expect(foldHookEvents(shuffled)).toEqual(expected);
      }),
    );
  });

  test('never waits for a call after its agent has stopped, nor for anything after the session has ended', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const at = events.length + 1;
        const stopped = foldHookEvents([...events, hookEvent(at, 'Stop')]);
        expect(stopped.blocked.filter(({ agentId }) => agentId === null)).toEqual([]);
        expect(stopped.turn).toBeNull();
        const fresh = foldHookEvents([...events, hookEvent(at, 'SessionStart', { source: 'startup' })]);
        expect(fresh).toMatchObject({ blocked: [], calls: [], turn: null, background: 0, error: null });
      }),
    );
  });

  test('has an open turn after every prompt', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const at = events.length + 1;
        expect(foldHookEvents([...events, hookEvent(at, 'UserPromptSubmit')]).turn).not.toBeNull();
      }),
    );
  });

  test('is empty without events', () => {
    expect(foldHookEvents([])).toMatchObject({ agentSessions: [], turn: null, last: null, blocked: [] });
  });

  test('pairs a request with the call of the same agent, tool and input, whatever the order of members', () => {
    const state = foldHookEvents([
      hookEvent(1, 'UserPromptSubmit', { promptId: 'p1' }),
      hookEvent(2, 'PreToolUse', bash('touch a', { toolUseId: 't1' })),
      hookEvent(3, 'PreToolUse', bash('touch b', { toolUseId: 't2' })),
      hookEvent(4, 'PermissionRequest', {
        toolName: 'Bash',
        toolInput: { description: 'run', command: 'touch b' },
      }),
    ]);
    expect(state.blocked.map(({ toolUseId }) => toolUseId)).toEqual(['t2']);
  });

  test('tells two equal calls apart', () => {
    const events = [
      hookEvent(1, 'PreToolUse', bash('touch a', { toolUseId: 't1' })),
      hookEvent(2, 'PermissionRequest', bash('touch a')),
      hookEvent(3, 'PreToolUse', bash('touch a', { toolUseId: 't2' })),
      hookEvent(4, 'PermissionRequest', bash('touch a')),
      hookEvent(5, 'PostToolUse', bash('touch a', { toolUseId: 't1' })),
    ];
    expect(foldHookEvents(events).blocked.map(({ toolUseId }) => toolUseId)).toEqual(['t2']);
  });

  test('ends a question whose result carries another input than its request', () => {
    const ask = { toolName: 'AskUserQuestion', toolInput: { questions: [] } };
    const state = foldHookEvents([
      hookEvent(1, 'PreToolUse', { ...ask, toolUseId: 't1' }),
      hookEvent(2, 'PermissionRequest', ask),
      hookEvent(3, 'PostToolUse', { ...ask, toolInput: { questions: [], answers: {} }, toolUseId: 't1' }),
    ]);
    expect(state.blocked).toEqual([]);
  });

  test('ends a request whose call was never seen with the result of that tool', () => {
    const state = foldHookEvents([
      hookEvent(2, 'PermissionRequest', bash('touch a')),
      hookEvent(3, 'PostToolUse', bash('touch a', { toolUseId: 't1' })),
    ]);
    expect(state.blocked).toEqual([]);
  });

  test('keeps the turn when a prompt is sent while the agent works', () => {
    const state = foldHookEvents([
      hookEvent(1, 'UserPromptSubmit', { promptId: 'p1', prompt: 'first' }),
      hookEvent(5, 'UserPromptSubmit', { promptId: 'p1', prompt: 'and this' }),
    ]);
    expect(state.turn).toMatchObject({ at: 1, prompt: 'first', lastEventAt: 5 });
  });

  test('takes a new prompt for the end of a turn whose own end was lost', () => {
    const state = foldHookEvents([
      hookEvent(1, 'UserPromptSubmit', { promptId: 'p1' }),
      hookEvent(2, 'PreToolUse', bash('sleep', { promptId: 'p1', toolUseId: 't1' })),
      hookEvent(9, 'UserPromptSubmit', { promptId: 'p2' }),
    ]);
    expect(state.last).toMatchObject({ outcome: 'interrupted', at: 2, promptId: 'p1' });
    expect(state.calls).toEqual([]);
  });

  test('lists conversations in order, and follows /clear and /resume', () => {
    const state = foldHookEvents([
      hookEvent(1, 'SessionStart', { source: 'startup' }),
      hookEvent(2, 'SessionEnd', { endReason: 'clear' }),
      hookEvent(3, 'SessionStart', { source: 'clear', agentSessionId: 'two' }),
      hookEvent(4, 'SessionEnd', { endReason: 'resume', agentSessionId: 'two' }),
      hookEvent(5, 'SessionStart', { source: 'resume' }),
    ]);
    expect(state.agentSessions).toEqual(['one', 'two', 'one']);
    expect(state.ended).toBeNull();
  });

  test('does not end the new conversation with the late end of the old one', () => {
    const state = foldHookEvents([
      hookEvent(1, 'SessionStart', { source: 'startup' }),
      hookEvent(3, 'SessionStart', { source: 'clear', agentSessionId: 'two' }),
      hookEvent(4, 'SessionEnd', { endReason: 'clear' }),
    ]);
    expect(state.ended).toBeNull();
  });
});

/** What one prompt leads to. `double` picks what is told again, and after how many more events. */
const Told = fc.record({
  calls: fc.array(fc.record({ asks: fc.boolean(), overtaken: fc.boolean(), ends: fc.boolean() }), {
    maxLength: 3,
  }),
  end: fc.constantFrom('Stop', 'StopFailure', 'none'),
  conversation: fc.constantFrom('goes on', 'clear'),
});

interface Line {
  event: HookEvent;
  /** Index of its turn. */
  turn: number;
  /** The call is under way, so that it makes a difference whether its request is told again. */
  isOpenRequest: boolean;
}

function history(turns: readonly (typeof Told extends fc.Arbitrary<infer T> ? T : never)[]): Line[] {
  const lines: Line[] = [];
  let conversation = 1;
  const tell = (turn: number, event: string, fields: Partial<HookEvent> = {}, isOpenRequest = false) =>
    lines.push({
      event: hookEvent(lines.length * 10, event, { agentSessionId: `c${conversation}`, ...fields }),
      turn,
      isOpenRequest,
    });
  tell(0, 'SessionStart', { source: 'startup' });
  for (const [n, { calls, end, conversation: after }] of turns.entries()) {
    const promptId = `p${n}`;
    tell(n, 'UserPromptSubmit', { promptId, prompt: `do ${n}` });
    for (const [k, { asks, overtaken, ends }] of calls.entries()) {
      const call = { promptId, toolUseId: `t${n}.${k}`, ...bash(`${n} ${k}`) };
      const { toolUseId: _, ...request } = call;
      if (overtaken && !asks) tell(n, 'PostToolUse', call);
      tell(n, 'PreToolUse', call);
      if (asks) tell(n, 'PermissionRequest', request, !ends);
      if (ends && (!overtaken || asks)) tell(n, 'PostToolUse', call);
    }
    if (end !== 'none') tell(n, end, { promptId, lastMessage: `did ${n}`, error: 'overloaded' });
    if (after === 'clear' && n < turns.length - 1) {
      tell(n, 'SessionEnd', { endReason: 'clear' });
      conversation += 1;
      tell(n, 'SessionStart', { source: 'clear' });
    }
  }
  return lines;
}

/** Without times: what is told again may be the last that was heard. */
function meaning(events: readonly HookEvent[]): unknown {
  const { turn, last, lastEventAt: _, ...state } = foldHookEvents(events);
  const isCutOff = last?.outcome === 'interrupted';
  return { ...state, turn: turn && { ...turn, lastEventAt: 0 }, last: isCutOff ? { ...last, at: 0 } : last };
}

describe('an event that is told again, or late,', () => {
  test('changes nothing while its turn runs, nor in the turns after it', () => {
    fc.assert(
      fc.property(
        fc.array(Told, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 6 }),
        (turns, doubles) => {
          const lines = history(turns);
          const again = doubles.flatMap(([which, delay]) => {
            const at = which % lines.length;
            const line = lines[at];
            const behind = at + (delay % (lines.length - at));
            const before = lines[behind];
            if (line === undefined || before === undefined || !isTellable(line, lines, behind)) return [];
            const { event } = line;
            const time = before.event.at + 1 + doubles.length;
            return [{ ...event, at: time, name: hookEvent(time, `${event.event}-${which}`).name }];
          });
          const events = lines.map(({ event }) => event);
          expect(meaning([...events, ...again])).toEqual(meaning(events));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  /** Nothing tells a session that starts again, nor a turn that a Stop hook keeps going, from an echo of them. */
  function isTellable({ event, turn, isOpenRequest }: Line, lines: readonly Line[], behind: number): boolean {
    if (event.event === 'SessionStart') return event.source === 'clear';
    if (event.event === 'SessionEnd') return lines.slice(0, behind + 1).some((line) => line.turn > turn);
    const isFollowed = lines
      .slice(0, behind + 1)
      .some((line) => line.turn > turn && line.event.event === 'UserPromptSubmit');
    if (isFollowed) return true;
    const hasEnded = lines
      .slice(0, behind + 1)
      .some((line) => line.turn === turn && ['Stop', 'StopFailure', 'SessionEnd'].includes(line.event.event));
    if (event.event === 'UserPromptSubmit' || event.event.startsWith('Stop')) return true;
    if (event.event === 'PermissionRequest') return isOpenRequest && !hasEnded;
    return !hasEnded;
  }

  test('such as the Stop of the turn before leaves the turn that runs open', () => {
    const state = foldHookEvents([
      hookEvent(1, 'UserPromptSubmit', { promptId: 'p1' }),
      hookEvent(2, 'Stop', { promptId: 'p1', lastMessage: 'one' }),
      hookEvent(3, 'UserPromptSubmit', { promptId: 'p2' }),
      hookEvent(4, 'Stop', { promptId: 'p1', lastMessage: 'one', backgroundTasks: 2 }),
      hookEvent(5, 'StopFailure', { promptId: 'p1', error: 'overloaded' }),
    ]);
    expect(state).toMatchObject({ turn: { promptId: 'p2' }, background: 0, error: null });
  });

  test('is not taken for the Stop of a turn whose prompt was missed', () => {
    const state = foldHookEvents([
      hookEvent(1, 'UserPromptSubmit', { promptId: 'p1' }),
      hookEvent(4, 'Stop', { promptId: 'p2', lastMessage: 'two' }),
    ]);
    expect(state.turn).toBeNull();
  });
});
