import type { StatusReport } from '../../protocol/ptywire.ts';
import type { Reason, ReasonKind } from '../../protocol/reason.ts';
import type { AgentFact } from '../../protocol/session.ts';
import type { HookState, OpenCall, TurnEnd } from './hook-state.ts';
import type { RegistryEntry } from './registry.ts';
import { startupReason } from './startup-screen.ts';
import {
  askedReason,
  isAbout,
  statusReason,
  tellsInput,
  unknownState,
  waitingReason,
} from './told-dialog.ts';
import { oneLine, reasonOf } from './tool-summary.ts';
import type { TranscriptHints } from './transcript-hints.ts';

/** What is known of the agent's process. Times in milliseconds since the epoch. */
export type ProcessFact =
  | { kind: 'running'; startedAt: number }
  | {
      kind: 'exited';
      at: number;
      exitCode: number | null;
      signal: string | null;
      /** The last line on its screen: the CLI writes there why it gives up. */
      lastLine?: string | undefined;
    }
  /** The ptyhost that had its terminal is gone. */
  | { kind: 'lost'; at: number }
  /** There has been none, or it was ended on purpose, which nobody needs to be told. */
  | { kind: 'none' };

/** Everything that tells what an agent does, at one moment. A signal that is not there is undefined. */
export interface AgentSignals {
  process: ProcessFact;
  hooks: HookState;
  /** The last report of the agent's own record (without `id`) in this terminal. */
  status?: StatusReport | undefined;
  registry?: RegistryEntry | undefined;
  transcript?: TranscriptHints | undefined;
  /** Rows of the terminal. Read only before the agent has said anything, when nothing better exists. */
  screen?: readonly string[] | undefined;
  now: number;
}

/** What the agent does, as far as the signals agree. */
export interface AgentState {
  agent: AgentFact;
  /** Set exactly when `agent` is `needs-you`. */
  reason?: Reason;
  /** When this began, milliseconds since the epoch. */
  since: number;
  /** How the last turn ended; absent while one runs and before the first. */
  outcome?: TurnEnd;
  /** The agent is past its start and its start dialogs: it takes keys. */
  started: boolean;
  /** No signal has words for what is asked: only the screen may show it. */
  wordless?: true;
}

/**
 * An agent that has said nothing for this long after its start waits for something that it cannot say, in ms.
 * It says something within a second; the rest is for slow machines.
 */
export const SILENT_START_MS = 20_000;

/** A dialog before the start is believed when the agent has been silent for so long, in ms: it is not a passing picture. */
const STARTUP_SCREEN_MS = 1_500;

/**
 * A report of work that comes this soon after a request was written can be older than the request, in ms: the
 * terminal and the hooks are two ways.
 */
const CROSSING_MS = 300;

/**
 * When terminal and registry both speak, and neither has shown what a hook told of for so long, in ms, it is not so:
 * another hook of the person has settled it. They follow the hooks within 100 ms.
 */
const SETTLED_MS = 5_000;

/** Before every time. */
const NEVER = Number.NEGATIVE_INFINITY;

/** By how much the registry's word must be newer than a report of the terminal to overrule it, in ms. */
const OVERRULE_MS = 1_500;

/**
 * Joins the signals. Pure, and the only place where they are weighed: hooks say what happened, the terminal's
 * status (OSC 7501) and the registry say what is, the transcript proves interruptions, the process outranks all.
 */
export function joinSignals(signals: AgentSignals): AgentState {
  const { process } = signals;
  if (process.kind !== 'running') return withoutProcess(signals, process);
  if (!hasStarted(signals, process.startedAt)) return beforeStart(signals, process.startedAt);
  return needsPerson(signals) ?? works(signals) ?? rests(signals, process.startedAt);
}

function withoutProcess(
  { hooks, transcript }: AgentSignals,
  process: Exclude<ProcessFact, { kind: 'running' }>,
): AgentState {
  const outcome = lastOutcome(hooks, transcript, hooks.turn !== null ? 'interrupted' : undefined);
  const base = { started: false, ...(outcome === undefined ? {} : { outcome }) };
  if (process.kind === 'none') return { ...base, agent: 'ended', since: hooks.lastEventAt ?? 0 };
  if (process.kind === 'lost') {
    return needs(
      base,
      'terminal-lost',
      'The terminal of the agent was lost; its conversation is kept.',
      process.at,
    );
  }
  if (process.exitCode === 0) return { ...base, agent: 'ended', since: process.at };
  const how =
    process.signal === null
      ? `with exit code ${process.exitCode ?? 'unknown'}`
      : `by signal ${process.signal}`;
  const said = oneLine(process.lastLine ?? '');
  return needs(base, 'agent-ended', `The agent ended ${how}${said === '' ? '.' : `: ${said}`}`, process.at);
}

/**
 * The CLI stands at its prompt, or has done so. Its SessionStart and its entry in the registry come before: in a
 * conversation that was resumed keys are lost for up to two seconds after them.
 */
function hasStarted({ hooks, status, registry, now }: AgentSignals, startedAt: number): boolean {
  if (status !== undefined && ['idle', 'working', 'done', 'error'].includes(status.state)) return true;
  if (((hooks.turn ?? hooks.last)?.at ?? NEVER) >= startedAt) return true;
  const registered = registry === undefined || registry.status === null ? NEVER : registry.statusAt;
  const first = Math.max(registered, hooks.startedAt ?? NEVER);
  return first >= startedAt && now - first > SETTLED_MS;
}

function beforeStart(
  { status, screen, now, hooks, transcript }: AgentSignals,
  startedAt: number,
): AgentState {
  const outcome = lastOutcome(hooks, transcript, undefined);
  const base = { started: false, ...(outcome === undefined ? {} : { outcome }) };
  if (status?.state === 'blocked')
    return { ...base, agent: 'needs-you', reason: statusReason(status), since: status.at };
  const silentFor = now - startedAt;
  if ((hooks.lastEventAt ?? NEVER) >= startedAt) return { ...base, agent: 'idle', since: startedAt };
  if (screen !== undefined && silentFor >= STARTUP_SCREEN_MS) {
    const reason = startupReason(screen);
    if (reason !== undefined) return { ...base, agent: 'needs-you', reason, since: startedAt };
  }
  if (silentFor < SILENT_START_MS) return { ...base, agent: 'idle', since: startedAt };
  return {
    ...needs(base, 'unknown', 'The agent started and has said nothing yet.', startedAt),
    wordless: true,
  };
}

// ── Needs the person ─────────────────────────────────────────────────────────

function needsPerson(signals: AgentSignals): AgentState | undefined {
  const { hooks, status, registry } = signals;
  const [call] = hooks.blocked.filter((blocked) => stillBlocked(blocked, signals));
  if (call !== undefined)
    return { agent: 'needs-you', reason: reasonOf(call), since: call.at, started: true };
  if (status?.state === 'blocked') {
    const after = lastOutcome(hooks, signals.transcript, undefined);
    const outcome = status.kind === 'auth' && after !== undefined ? { outcome: after } : {};
    const reason = askedReason(status, asking(status, signals));
    return {
      agent: 'needs-you',
      reason,
      since: status.at,
      started: true,
      ...outcome,
      ...(reason.kind === 'unknown' ? { wordless: true } : {}),
    };
  }
  // A dialog that the terminal does not tell of, such as one of the person's own commands.
  if (registry?.status === 'waiting' && newer(registry.statusAt, status?.at, hooks.lastEventAt)) {
    return {
      agent: 'needs-you',
      reason: waitingReason(registry),
      since: registry.statusAt,
      started: true,
      wordless: true,
    };
  }
  if (hooks.error !== null && !recovered(signals, hooks.error.at)) {
    const { kind, message, at } = hooks.error;
    return {
      ...needs({ started: true }, isLogin(kind) ? 'login' : 'api-error', oneLine(message), at),
      outcome: 'failed',
    };
  }
  if (status?.state === 'error' && newer(status.at, hooks.turn?.lastEventAt)) {
    return {
      ...needs(
        { started: true },
        'api-error',
        oneLine(status.msg ?? 'The API refused the request.'),
        status.at,
      ),
      outcome: 'failed',
    };
  }
  if (
    registry !== undefined &&
    isUnknown(registry) &&
    newer(registry.statusAt, status?.at, hooks.lastEventAt)
  ) {
    const reason = unknownState(registry.status ?? '');
    return { agent: 'needs-you', reason, since: registry.statusAt, started: true };
  }
  return undefined;
}

/**
 * A request that hooks told of ends for them with its result. A denial or an interruption has none: then the
 * others must prove it, all that speak, with words that are newer than the request.
 */
function stillBlocked(call: OpenCall, { status, registry, transcript, now }: AgentSignals): boolean {
  if (hasResult(call, transcript) || isFollowed(call, status)) return false;
  if (call.agentId === null && (transcript?.interruptAt ?? NEVER) >= call.at) return false;
  const words: Word[] = [];
  if (status !== undefined) {
    words.push({ yes: status.state !== 'blocked', at: status.at, sure: status.state !== 'working' });
  }
  if (registry !== undefined) {
    const free = registry.status !== null && registry.status !== 'waiting';
    words.push({ yes: free, at: registry.statusAt, sure: registry.status !== 'busy' });
  }
  return !agreed(words, call.at, now);
}

/**
 * The terminal asks for something else: it said in between that nothing is asked. A denial ends a request so, of which no
 * hook tells. Its words, where they tell what is asked, outweigh the times.
 */
function isFollowed(call: OpenCall, status: StatusReport | undefined): boolean {
  if (status?.state !== 'blocked' || (tellsInput(status) && isAbout(status, call))) return false;
  return (status.freeAt ?? status.at) > call.at + CROSSING_MS;
}

/**
 * The calls that the terminal may ask about. Their request comes a moment later, or never: the dialogs of auto mode fire
 * no PermissionRequest.
 */
function asking(status: StatusReport, { hooks, transcript }: AgentSignals): OpenCall[] {
  const followed = hooks.blocked.filter((call) => isFollowed(call, status)).map(({ toolUseId }) => toolUseId);
  return hooks.calls.filter((call) => !hasResult(call, transcript) && !followed.includes(call.toolUseId));
}

function hasResult({ toolUseId }: OpenCall, transcript: TranscriptHints | undefined): boolean {
  return toolUseId !== null && transcript?.finishedCalls.includes(toolUseId) === true;
}

/** What one of terminal and registry says to a question, and since when. `sure`: no report of before could say it. */
interface Word {
  yes: boolean;
  at: number;
  sure: boolean;
}

/** All that speak say yes, with words newer than `at`, or for so long after it that they would have said otherwise. */
function agreed(words: readonly Word[], at: number, now: number): boolean {
  if (words.length === 0 || !words.every(({ yes }) => yes)) return false;
  if (words.length === 2 && now - at > SETTLED_MS) return true;
  return words.every((word) => word.at > at + (words.length === 1 && !word.sure ? CROSSING_MS : 0));
}

/** The agent goes on, or the person has seen to it: both show as a later status without the error. */
function recovered({ status, registry, hooks }: AgentSignals, errorAt: number): boolean {
  if (hooks.turn !== null && hooks.turn.at > errorAt) return true;
  if (status !== undefined) return status.state !== 'error' && status.at > errorAt;
  return registry?.status === 'busy' && registry.statusAt > errorAt;
}

// ── Works ────────────────────────────────────────────────────────────────────

function works(signals: AgentSignals): AgentState | undefined {
  const { hooks, status, registry, transcript } = signals;
  const { turn, last, background } = hooks;
  if (turn !== null && !resting(signals, turn.lastEventAt))
    return { agent: 'working', since: turn.at, started: true };
  if (turn === null && background > 0 && last !== null && !resting(signals, last.at)) {
    return { agent: 'working', since: last.at, started: true };
  }
  // What no hook tells of: commands of the CLI itself, compaction, hooks that are turned off.
  if (status?.state === 'working' && newer(status.at, last?.at, transcript?.interruptAt)) {
    const overruled = registry?.status === 'idle' && registry.statusAt > status.at + OVERRULE_MS;
    return overruled ? undefined : { agent: 'working', since: status.at, started: true };
  }
  if (
    status === undefined &&
    registry?.status === 'busy' &&
    newer(registry.statusAt, last?.at, transcript?.interruptAt)
  ) {
    return { agent: 'working', since: registry.statusAt, started: true };
  }
  return undefined;
}

/**
 * Everything that speaks says that the agent rests, with words newer than `at`; a lost Stop or an interruption.
 * The transcript's marks count alone, for they stand where the turn was.
 */
function resting({ status, registry, transcript, now }: AgentSignals, at: number): boolean {
  if (transcript !== undefined && interruptedSince(transcript, at)) return true;
  const words: Word[] = [];
  if (status !== undefined) {
    words.push({ yes: ['idle', 'done', 'error'].includes(status.state), at: status.at, sure: true });
  }
  if (registry !== undefined)
    words.push({ yes: registry.status === 'idle', at: registry.statusAt, sure: true });
  return agreed(words, at, now);
}

/** Interrupted at or after `at`, and nothing was asked or done since. */
function interruptedSince(transcript: TranscriptHints, at: number): boolean {
  const { interruptAt, promptAt, activityAt } = transcript;
  return (
    interruptAt !== null &&
    interruptAt >= at &&
    interruptAt >= Math.max(promptAt ?? NEVER, activityAt ?? NEVER)
  );
}

// ── Rests ────────────────────────────────────────────────────────────────────

function rests(signals: AgentSignals, startedAt: number): AgentState {
  const { hooks, status, registry, transcript } = signals;
  const restedAt = Math.max(
    status?.at ?? 0,
    registry?.statusAt ?? 0,
    hooks.turn?.lastEventAt ?? 0,
    transcript?.interruptAt ?? 0,
  );
  if (hooks.turn !== null) {
    const ended = status?.state === 'done' ? 'done' : status?.state === 'error' ? 'failed' : 'interrupted';
    const outcome =
      transcript !== undefined && interruptedSince(transcript, hooks.turn.at) ? 'interrupted' : ended;
    return { agent: 'finished', since: restedAt, outcome, started: true };
  }
  if (hooks.last !== null)
    return { agent: 'finished', since: hooks.last.at, outcome: hooks.last.outcome, started: true };
  const told = hooks.startedAt === null ? lastOutcome(hooks, transcript, undefined) : undefined;
  if (told !== undefined) return { agent: 'finished', since: restedAt, outcome: told, started: true };
  if (hooks.startedAt === null && status?.state === 'done') {
    return { agent: 'finished', since: status.at, outcome: 'done', started: true };
  }
  return { agent: 'idle', since: hooks.startedAt ?? startedAt, started: true };
}

/** By the hooks; without any, by the transcript. */
function lastOutcome(
  hooks: HookState,
  transcript: TranscriptHints | undefined,
  open: TurnEnd | undefined,
): TurnEnd | undefined {
  if (open !== undefined) return open;
  if (hooks.last !== null) return hooks.last.outcome;
  if (hooks.lastEventAt !== null || transcript === undefined || transcript.promptAt === null)
    return undefined;
  if (interruptedSince(transcript, transcript.promptAt)) return 'interrupted';
  if ((transcript.apiErrorAt ?? NEVER) >= transcript.promptAt) return 'failed';
  return (transcript.turnEndAt ?? NEVER) >= transcript.promptAt ? 'done' : undefined;
}

// ── Words ────────────────────────────────────────────────────────────────────

/** `at` is later than each of the others that is there. */
function newer(at: number, ...others: (number | null | undefined)[]): boolean {
  return others.every((other) => other === null || other === undefined || at > other);
}

function needs(
  base: Pick<AgentState, 'started' | 'outcome'>,
  kind: ReasonKind,
  message: string,
  since: number,
): AgentState {
  return { ...base, agent: 'needs-you', reason: { kind, message }, since };
}

const KNOWN_STATUS = ['idle', 'busy', 'waiting', 'shell'];

function isUnknown({ status }: RegistryEntry): boolean {
  return status !== null && !KNOWN_STATUS.includes(status);
}

function isLogin(errorKind: string): boolean {
  return /auth|login|oauth/.test(errorKind);
}
