import type { EntryReason, EntryState } from './entry.ts';
import type { ReasonKind } from './reason.ts';
import type { Session, TurnOutcome } from './session.ts';

/** `3m`, `2h`, `5d`: how long ago, in the largest unit that fits. */
export function age(since: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Dollars and cents; what is less than a cent, but not nothing, shows as `<$0.01`. */
export function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`;
}

/** `950`, `12.3k`, `4.5M`: a number of tokens in at most five characters below a billion. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${(count / 1e3).toFixed(count < 99_950 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(count < 99_950_000 ? 1 : 0)}M`;
}

/** What a person is needed for, in a word or two. */
const REASON_WORDS: Record<ReasonKind, string> = {
  permission: 'permission',
  question: 'question',
  plan: 'plan',
  login: 'sign in',
  trust: 'trust',
  'api-error': 'API error',
  'agent-ended': 'agent ended',
  'terminal-lost': 'terminal lost',
  'hook-failed': 'hook failed',
  conflict: 'conflict',
  'check-failed': 'check failed',
  'landing-stopped': 'landing stopped',
  'start-failed': 'not started',
  'worktree-missing': 'worktree missing',
  budget: 'budget',
  'prompt-undelivered': 'prompt not delivered',
  'base-refuses-pushes': 'push refused',
  unknown: 'see its terminal',
};

/** The state as people read it: `needs you: permission`, `finished (interrupted)`, `sleeping (interrupted)`. */
export function stateWords(session: Pick<Session, 'state' | 'reason' | 'outcome'>): string {
  const { state, reason, outcome } = session;
  if (state === 'needs-you') {
    return `needs you: ${reason?.dialog === true ? 'dialog' : REASON_WORDS[reason?.kind ?? 'unknown']}`;
  }
  const rests = state === 'finished' || state === 'sleeping';
  if (rests && (outcome === 'interrupted' || outcome === 'failed')) return `${state} (${outcome})`;
  return state === 'in-review' ? 'in review' : state;
}

/** That no agent runs, where the state does not say it: `its agent sleeps`, or nothing. */
export function sleepWords({ state, facts }: Pick<Session, 'state' | 'facts'>): string {
  return facts.life === 'sleeping' && state !== 'sleeping' ? 'its agent sleeps' : '';
}

const ENTRY_STATE_WORDS: Record<EntryState, string> = {
  queued: 'queued',
  securing: 'securing',
  merging: 'merging',
  checking: 'checking',
  swapping: 'landing',
  waiting: 'waits',
  'handed-back': 'handed back',
  landed: 'landed',
  failed: 'failed',
  cancelled: 'taken out',
  'nothing-to-land': 'nothing to land',
};

/** Why an entry waits or ended; empty where its state says that. */
const ENTRY_REASON_WORDS: Record<EntryReason, string> = {
  after: 'for another',
  conflict: 'conflict',
  'red-check': 'red check',
  'base-red': 'red base',
  'base-refuses-pushes': 'push refused',
  'base-rewound': 'base rewound',
  'base-missing': 'base missing',
  'base-diverged': 'base diverged',
  'branch-missing': 'branch missing',
  'folder-in-the-way': 'folder in the way',
  'head-moved': 'branch moved',
  offline: 'offline',
  'sign-in': 'sign in',
  'signing-failed': 'not signed',
  'repository-missing': 'repository missing',
  'commit-refused': 'commit refused',
  'in-a-turn': 'in a turn',
  uncommitted: 'not committed',
  cancelled: '',
  'nothing-to-land': '',
  infrastructure: 'trouble',
  archived: 'archived',
};

/** The state of an entry of the merge queue as people read it: `landing`, `taken out`. */
export function entryStateWords(state: EntryState): string {
  return ENTRY_STATE_WORDS[state];
}

/** As {@link entryStateWords}, with the reason: `failed: conflict`, `waits: offline`. */
export function entryWords({ state, reason }: { state: EntryState; reason: EntryReason | null }): string {
  const why = reason === null ? '' : ENTRY_REASON_WORDS[reason];
  return why === '' ? entryStateWords(state) : `${entryStateWords(state)}: ${why}`;
}

const OUTCOME_WORDS: Record<TurnOutcome, string> = {
  open: 'running',
  done: 'done',
  interrupted: 'interrupted',
  failed: 'failed',
};

/** How a turn ended, as people read it. */
export function outcomeWords(outcome: TurnOutcome): string {
  return OUTCOME_WORDS[outcome];
}
