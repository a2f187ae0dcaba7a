import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { forgettable, MAX_FOLDS } from '../../../../sidecar/agents/claude/hook-compaction.ts';
import type { HookEvent } from '../../../../sidecar/agents/claude/hook-event.ts';
import { foldHookEvents } from '../../../../sidecar/agents/claude/hook-state.ts';
import { hookEvent } from './timeline.ts';

// The real ones, and how often they are asked.
vi.mock('../../../../sidecar/agents/claude/hook-state.ts', async (original) => {
  const real = await original<typeof import('../../../../sidecar/agents/claude/hook-state.ts')>();
  return { ...real, foldHookEvents: vi.fn(real.foldHookEvents) };
});
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof import('node:crypto')>();
  return { ...real, createHash: vi.fn(real.createHash) };
});
beforeEach(() => vi.clearAllMocks());

/** What an agent may do next. `agent` 0 is the session's own, others are subagents. */
const Deed = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('prompt' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      agent: fc.integer({ min: 0, max: 2 }),
      tool: fc.constantFrom('Bash', 'Write'),
      input: fc.integer({ min: 0, max: 1 }),
      asks: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('result' as const), which: fc.nat(), denied: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('stop' as const), background: fc.integer({ min: 0, max: 1 }) }),
  },
  fc.record({ kind: fc.constant('failure' as const) }),
  fc.record({ kind: fc.constant('subagent-stop' as const), agent: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ kind: fc.constant('notification' as const) }),
  fc.record({ kind: fc.constantFrom('clear' as const, 'compact' as const, 'resume' as const) }),
);
type Deed = typeof Deed extends fc.Arbitrary<infer T> ? T : never;

/** The events of what an agent does, as the CLI would tell them. */
function eventsOf(deeds: readonly Deed[]): HookEvent[] {
  const events: HookEvent[] = [];
  const open: { agent: number; tool: string; input: number; id: string }[] = [];
  let conversation = 1;
  let prompts = 0;
  let calls = 0;
  const tell = (event: string, fields: Partial<HookEvent> = {}) =>
    events.push(
      hookEvent(events.length * 10, event, {
        agentSessionId: `conversation ${conversation}`,
        promptId: `prompt ${prompts}`,
        ...fields,
      }),
    );
  const by = (agent: number) => (agent === 0 ? {} : { agentId: `agent ${agent}` });
  tell('SessionStart', { source: 'startup' });
  for (const deed of deeds) {
    switch (deed.kind) {
      case 'prompt':
        prompts += 1;
        tell('UserPromptSubmit', { prompt: 'do it' });
        break;
      case 'call': {
        calls += 1;
        const call = { agent: deed.agent, tool: deed.tool, input: deed.input, id: `call ${calls}` };
        open.push(call);
        const fields = { ...by(deed.agent), toolName: deed.tool, toolInput: { n: deed.input } };
        tell('PreToolUse', { ...fields, toolUseId: call.id });
        if (deed.asks) tell('PermissionRequest', fields);
        break;
      }
      case 'result': {
        const [call] = open.splice(deed.which % Math.max(1, open.length), 1);
        if (call === undefined) break;
        tell(deed.denied ? 'PermissionDenied' : 'PostToolUse', {
          ...by(call.agent),
          toolName: call.tool,
          toolInput: { n: call.input },
          toolUseId: call.id,
        });
        break;
      }
      case 'stop':
        tell('Stop', { backgroundTasks: deed.background, lastMessage: `said ${events.length}` });
        break;
      case 'failure':
        tell('StopFailure', { error: 'overloaded' });
        break;
      case 'subagent-stop':
        tell('SubagentStop', by(deed.agent));
        break;
      case 'notification':
        tell('Notification', { message: 'look' });
        break;
      case 'clear':
        tell('SessionEnd', { endReason: 'clear' });
        conversation += 1;
        tell('SessionStart', { source: 'clear' });
        break;
      case 'compact':
      case 'resume':
        tell('SessionStart', { source: deed.kind });
        break;
    }
  }
  return events;
}

/** What can go when each call, and each other event, is tried by itself, oldest first. */
function tryEach(events: readonly HookEvent[]): string[] {
  const meaning = foldHookEvents(events);
  const groups = new Map<string, HookEvent[]>();
  const about = ({ agentId, toolName, toolInput }: HookEvent) =>
    JSON.stringify([agentId, toolName, toolInput]);
  for (const event of events) {
    const asking = [...groups].find(
      ([, [begin, ...more]]) =>
        event.event === 'PermissionRequest' &&
        begin?.event === 'PreToolUse' &&
        more.length === 0 &&
        about(begin) === about(event),
    );
    const key = event.toolUseId ?? asking?.[0] ?? event.name;
    groups.set(key, [...(groups.get(key) ?? []), event]);
  }
  let kept = events;
  for (const group of groups.values()) {
    const rest = kept.filter((event) => !group.includes(event));
    if (isDeepStrictEqual(foldHookEvents(rest), meaning)) kept = rest;
  }
  return events.filter((event) => !kept.includes(event)).map(({ name }) => name);
}

/** Folds event after event, forgetting after each what can be; gives what stays. */
function keepOf(events: readonly HookEvent[]): HookEvent[] {
  let kept: HookEvent[] = [];
  for (const event of events) {
    kept.push(event);
    const forgotten = new Set(forgettable(kept));
    kept = kept.filter(({ name }) => !forgotten.has(name));
  }
  return kept;
}

describe('forgetting events', () => {
  it('never changes what the rest means, whatever the agent did', () => {
    fc.assert(
      fc.property(fc.array(Deed, { maxLength: 40 }), (deeds) => {
        const events = eventsOf(deeds);
        expect(foldHookEvents(keepOf(events))).toEqual(foldHookEvents(events));
      }),
      { numRuns: 300 },
    );
  });

  it('never changes what the rest means when events are lost or come twice', () => {
    fc.assert(
      fc.property(
        fc.array(Deed, { maxLength: 30 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
        (deeds, dice) => {
          const events = eventsOf(deeds).flatMap((event) => {
            const luck = dice.next().value;
            if (luck === 0) return [];
            return luck === 1 ? [event, { ...event, name: `${event.name}-again` }] : [event];
          });
          expect(foldHookEvents(keepOf(events))).toEqual(foldHookEvents(events));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('leaves nothing that could go by itself, whatever the agent did', () => {
    fc.assert(
      fc.property(fc.array(Deed, { maxLength: 40 }), (deeds) => {
        const events = eventsOf(deeds);
        let kept = events;
        for (let forgotten: string[] | undefined; forgotten?.length !== 0; ) {
          forgotten = forgettable(kept);
          kept = kept.filter(({ name }) => forgotten?.includes(name) !== true);
        }
        expect(tryEach(kept)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['a string', (n: number) => `${n} ${'x'.repeat(100_000)}`],
    ['an object', (n: number) => ({ n, content: 'x'.repeat(100_000) })],
  ])('of a flood of calls with large inputs takes few folds, and each input once: %s', (_what, input) => {
    const calls = Array.from({ length: 250 }, (_, n) =>
      hookEvent(n, n % 2 === 0 ? 'PreToolUse' : 'PermissionRequest', {
        ...(n % 2 === 0 ? { toolUseId: `t${n}` } : {}),
        promptId: 'p',
        toolName: 'Bash',
        toolInput: input(n >> 1),
      }),
    );
    const told = Array.from({ length: 200 }, (_, n) => hookEvent(300 + n, 'Notification'));
    const ends = Array.from({ length: 10 }, (_, n) =>
      hookEvent(600 + n, 'PostToolUse', { toolUseId: `t${2 * n}`, toolName: 'Bash', promptId: 'p' }),
    );
    const events = [...calls, ...told, ...ends];
    const forgotten = forgettable(events);
    expect(foldHookEvents).toHaveBeenCalledTimes(2);
    expect(createHash).toHaveBeenCalledTimes(250);
    expect(told.filter(({ name }) => !forgotten.includes(name))).toEqual([]);
    const kept = events.filter(({ name }) => !forgotten.includes(name));
    expect(foldHookEvents(kept)).toEqual(foldHookEvents(events));
    // With each later event they are all looked at again.
    for (let n = 0; n < 5; n += 1) forgettable([...kept, hookEvent(700 + n, 'Notification')]);
    expect(createHash).toHaveBeenCalledTimes(250);
  });

  it('takes a bounded number of folds, whatever was written in the place of an agent', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            event: fc.constantFrom(
              'SessionStart',
              'SessionEnd',
              'UserPromptSubmit',
              'PreToolUse',
              'Stop',
              'X',
            ),
            agentSessionId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
            promptId: fc.option(fc.constantFrom('p', 'q', 'r', 's', 't'), { nil: undefined }),
          }),
          { minLength: 200, maxLength: 400, size: 'max' },
        ),
        (told) => {
          vi.clearAllMocks();
          const events = told.map(({ event, agentSessionId, promptId }, n) =>
            hookEvent(n, event, { agentSessionId, ...(promptId === undefined ? {} : { promptId }) }),
          );
          const forgotten = forgettable(events);
          expect(vi.mocked(foldHookEvents).mock.calls.length).toBeLessThanOrEqual(1 + MAX_FOLDS);
          const kept = events.filter(({ name }) => !forgotten.includes(name));
          expect(foldHookEvents(kept)).toEqual(foldHookEvents(events));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('keeps only the last turn of a long session', () => {
    const deeds = Array.from({ length: 200 }, (): Deed[] => [
      { kind: 'prompt' },
      { kind: 'call', agent: 0, tool: 'Bash', input: 0, asks: true },
      { kind: 'call', agent: 1, tool: 'Bash', input: 0, asks: true },
      { kind: 'result', which: 0, denied: false },
      { kind: 'result', which: 0, denied: false },
      { kind: 'subagent-stop', agent: 1 },
      { kind: 'notification' },
      { kind: 'stop', background: 0 },
    ]).flat();
    expect(keepOf(eventsOf(deeds)).length).toBeLessThan(10);
  });
});
