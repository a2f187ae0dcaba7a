import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forgettable } from '../../../../sidecar/agents/claude/hook-compaction.ts';
import type { HookEvent } from '../../../../sidecar/agents/claude/hook-event.ts';
import { foldHookEvents } from '../../../../sidecar/agents/claude/hook-state.ts';
import { hookEvent } from './timeline.ts';

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
