import type { HookEvent } from '../../../../sidecar/agents/claude/hook-event.ts';
import { foldHookEvents } from '../../../../sidecar/agents/claude/hook-state.ts';
import type { RegistryEntry } from '../../../../sidecar/agents/claude/registry.ts';
import { type AgentState, joinSignals, type ProcessFact } from '../../../../sidecar/agents/claude/state.ts';
import { NO_HINTS, type TranscriptHints } from '../../../../sidecar/agents/claude/transcript-hints.ts';
import type { StatusReport } from '../../../../sidecar/protocol/ptywire.ts';
import { StatusRecords } from '../../../../sidecar/ptyhost/status-records.ts';

/** A hook event at `at` ms. */
export function hookEvent(at: number, event: string, fields: Partial<HookEvent> = {}): HookEvent {
  const name = `${String(Math.round((at + 1e6) * 1e6)).padStart(19, '0')}-${event}${fields.toolUseId ?? ''}`;
  return { name, at, event, agentSessionId: 'one', ...fields };
}

/**
 * What the CLI told over time, in ms since its start: one line a signal, as they were recorded from 2.1.332.
 * `at(t)` is the joined state at that moment: what came later is not known yet.
 */
export class Timeline {
  readonly #events: HookEvent[] = [];
  readonly #statuses: StatusReport[] = [];
  readonly #records = new StatusRecords();
  readonly #registry: RegistryEntry[] = [];
  readonly #hints: { at: number; hints: Partial<TranscriptHints> }[] = [];
  #end: Exclude<ProcessFact, { kind: 'running' }> | undefined;
  #screen: { at: number; rows: string[] } | undefined;

  hook(at: number, event: string, fields: Partial<HookEvent> = {}): this {
    this.#events.push(hookEvent(at, event, fields));
    return this;
  }

  status(at: number, state: StatusReport['state'], fields: Partial<StatusReport> = {}): this {
    this.#statuses.push(this.#records.add({ state, app: 'claude-code', ...fields, at }));
    return this;
  }

  registry(at: number, status: string, waitingFor: string | null = null): this {
    this.#registry.push({ pid: 7, agentSessionId: 'one', status, waitingFor, statusAt: at, startedAt: 0 });
    return this;
  }

  transcript(at: number, hints: Partial<TranscriptHints>): this {
    this.#hints.push({ at, hints });
    return this;
  }

  screen(at: number, ...rows: string[]): this {
    this.#screen = { at, rows };
    return this;
  }

  ends(end: Exclude<ProcessFact, { kind: 'running' }>): this {
    this.#end = end;
    return this;
  }

  at(now: number): AgentState {
    const known = <T extends { at: number }>(all: readonly T[]) => all.filter(({ at }) => at <= now);
    const hints = known(this.#hints);
    const end = this.#end;
    return joinSignals({
      process:
        end !== undefined && (end.kind === 'none' || end.at <= now) ? end : { kind: 'running', startedAt: 0 },
      hooks: foldHookEvents(known(this.#events)),
      status: known(this.#statuses).at(-1),
      registry: this.#registry.filter(({ statusAt }) => statusAt <= now).at(-1),
      transcript:
        hints.length === 0 ? undefined : Object.assign({ ...NO_HINTS }, ...hints.map((each) => each.hints)),
      screen: this.#screen !== undefined && this.#screen.at <= now ? this.#screen.rows : undefined,
      now,
    });
  }
}

/** From the start of the CLI to a prompt that is being worked on, as recorded. */
export function promptedAt(submitted = 1243): Timeline {
  return new Timeline()
    .hook(659, 'SessionStart', { source: 'startup' })
    .registry(972, 'idle')
    .status(1123, 'idle')
    .hook(submitted, 'UserPromptSubmit', { promptId: 'p1', prompt: 'run a command' })
    .status(submitted + 22, 'working')
    .registry(submitted + 44, 'busy');
}
