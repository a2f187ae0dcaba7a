import type { HookEvent } from '../agents/claude/hook-event.ts';
import { foldHookEvents } from '../agents/claude/hook-state.ts';
import { withDialog } from '../agents/claude/open-dialog.ts';
import type { SharedRegistry } from '../agents/claude/registry.ts';
import { type AgentState, joinSignals, type ProcessFact } from '../agents/claude/state.ts';
import { claudeConfigDir } from '../agents/claude/transcript-path.ts';
import { isAlive } from '../platform/processes.ts';
import type { FairleadError } from '../protocol/errors.ts';
import type { ReasonKind } from '../protocol/reason.ts';
import type { LifeFact } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import type { SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';
import type { TranscriptTail } from './transcript-tail.ts';

/** What the signals of a session say together, at one moment. */
export interface SignalReading extends AgentState {
  life: LifeFact;
  /** Whether a prompt can be given although the person is needed: the agent waits for one. */
  takesPrompts: boolean;
  /** Tasks or crons of the agent go on though it rests, and wake it by themselves. */
  background: boolean;
}

export interface SignalSources {
  terminals: Pick<TerminalHost, 'terminal' | 'request'>;
  /** The hook events of the session that still matter. */
  events: readonly HookEvent[];
  transcript: Pick<TranscriptTail, 'read'>;
  registry: SharedRegistry;
  /** See `TerminalHost.silent`. */
  silent?: FairleadError | undefined;
  /** The machine was started anew since anything was last known of the terminal. */
  rebooted: boolean;
}

/** Needs after which the agent stands at its prompt. */
const AT_PROMPT: readonly ReasonKind[] = [
  'api-error',
  'login',
  'conflict',
  'check-failed',
  'landing-stopped',
  'prompt-undelivered',
];

/** Whether an agent that runs takes a prompt although the person is needed for this. */
export function takesPrompts(kind: ReasonKind | undefined): boolean {
  return kind !== undefined && AT_PROMPT.includes(kind);
}

/** Reads every signal of a session; undefined while nothing is to be known, and what is known stays. */
export async function readSignals(
  context: SessionContext,
  record: SessionRecord,
  sources: SignalSources,
): Promise<SignalReading | undefined> {
  const { terminals, events, transcript, silent: unreachable } = sources;
  if (unreachable !== undefined) return unknownState(record, unreachable, context.clock.now());
  const process = await processFact(context, record, sources);
  if (process === undefined) return undefined;
  const hooks = foldHookEvents(events);
  const configDir = claudeConfigDir(context.table.environment(record.environment));
  const conversation = context.table.agentSessions(record.id).at(-1)?.id;
  const known = terminals.terminal(record.terminal);
  const silent = process.kind === 'running' && (hooks.lastEventAt ?? 0) < process.startedAt;
  const registry =
    configDir === undefined || conversation === undefined
      ? undefined
      : sources.registry.entry(configDir, conversation, isAlive);
  // After the process: what an agent wrote before it ended counts.
  const said = await transcript.read();
  const state = joinSignals({
    process,
    hooks,
    status: known.kind === 'known' ? known.info.status.find(({ id }) => id === undefined) : undefined,
    registry,
    transcript: said,
    screen: silent ? await screenOf(terminals, record.terminal) : undefined,
    now: context.clock.now(),
  });
  return {
    ...(await withWords(state, terminals, record)),
    life: lifeOf(context, record, process, state),
    takesPrompts: state.started && takesPrompts(state.reason?.kind),
    background: hooks.background > 0 || registry?.status === 'shell',
  };
}

/** What only the screen shows, in its words. */
async function withWords(
  { wordless, ...state }: AgentState,
  terminals: SignalSources['terminals'],
  before: SessionRecord,
): Promise<AgentState> {
  if (wordless !== true || state.reason === undefined) return state;
  const screen = await screenOf(terminals, before.terminal);
  const reason = screen === undefined ? state.reason : withDialog(state.reason, screen, state.started);
  // A dialog leaves the screen a moment before a signal tells of it: until then it stays what it was.
  const { reason: last, since } = before;
  if (reason === state.reason && last?.dialog === true && since === Math.round(state.since)) {
    return { ...state, reason: last };
  }
  return { ...state, reason };
}

/** Nobody knows what an agent does whose ptyhost does not answer; it is as it was when that comes back. */
function unknownState(record: SessionRecord, why: FairleadError, now: number): SignalReading | undefined {
  if (record.life === 'sleeping') return undefined;
  return {
    agent: 'needs-you',
    reason: {
      kind: 'unknown',
      message: `${why.message} What the agent does is not known; \`fairlead doctor\` says what to do.`,
    },
    since: now,
    started: false,
    life: record.life,
    takesPrompts: false,
    background: true,
  };
}

async function processFact(
  context: SessionContext,
  record: SessionRecord,
  { terminals, rebooted }: SignalSources,
): Promise<ProcessFact | undefined> {
  const known = terminals.terminal(record.terminal);
  if (known.kind === 'unknown') return undefined;
  if (known.kind === 'known') {
    const { exited, startedAt } = known.info;
    if (exited === undefined) return { kind: 'running', startedAt };
    const rows = exited.exitCode === 0 ? undefined : await screenOf(terminals, record.terminal);
    return { kind: 'exited', ...exited, lastLine: lastWords(rows) };
  }
  if (record.life === 'sleeping') {
    // Its end was seen before; that the terminal is gone by now is no news.
    return record.reason?.kind === 'terminal-lost' ? { kind: 'lost', at: record.since } : undefined;
  }
  const wasInTurn = record.agent_fact === 'working' || record.agent_fact === 'needs-you';
  if (rebooted && !wasInTurn) return { kind: 'none' };
  return { kind: 'lost', at: context.clock.now() };
}

/** The last row with a word in it: below it there may be frames. */
function lastWords(rows: readonly string[] | undefined): string | undefined {
  return rows?.findLast((row) => /[\p{L}\p{N}]/u.test(row));
}

/** A session starts until its agent is at its prompt, or at work on the first one. */
function lifeOf(
  context: SessionContext,
  record: SessionRecord,
  process: ProcessFact,
  state: AgentState,
): LifeFact {
  if (process.kind !== 'running') return 'sleeping';
  if (record.life !== 'starting' || state.agent === 'working' || state.agent === 'needs-you') return 'active';
  const firstIsUnderWay = context.table
    .openPrompts(record.id)
    .some((prompt) => prompt.state === 'sent' && prompt.via === 'launch');
  return state.started && !firstIsUnderWay ? 'active' : 'starting';
}

async function screenOf(
  terminals: SignalSources['terminals'],
  id: string | null,
): Promise<readonly string[] | undefined> {
  if (id === null) return undefined;
  return terminals.request('screen', { id }).then(
    ({ text }) => text,
    () => undefined,
  );
}
