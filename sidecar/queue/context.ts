import type { Git } from '../git/git.ts';
import type { SwapStep } from '../git/swap-together.ts';
import type { Clock } from '../platform/clock.ts';
import type { JoinedConfig } from '../platform/config.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Paths } from '../platform/paths.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import type { Reason } from '../protocol/reason.ts';
import type { LandingFact, TurnOutcome } from '../protocol/session.ts';
import type { FleetEvents } from '../sessions/events.ts';
import type { RepositoryRecord, SessionRecord } from '../sessions/record.ts';
import type { EntryTable } from './entry-table.ts';
import type { HandBackTable } from './hand-back-table.ts';

/** What the queue needs of the fleet. */
export interface QueuedSessions {
  resolve(name: string): SessionRecord;
  get(id: string): SessionRecord;
  repository(id: string): RepositoryRecord;
  setLandTo(repository: string, to: 'local' | 'remote'): void;
  /** Whether the agent is in a turn, or may be: its worktree is not to be touched. */
  isInTurn(id: string): boolean;
  /** How many turns the session has had, with one that is open. */
  turnCount(id: string): number;
  /** Moves the session on the landing axis; a demand says what the person is needed for, null that nothing is. */
  setLanding(id: string, landing: LandingFact, demand: Reason | null): void;
  /** Variables that checks of this session run in. */
  environment(session: SessionRecord): Record<string, string>;
  /**
   * Brings a prompt to the agent, and starts one that sleeps. Asked again with the same `request` it is the same prompt.
   * Resolves when it is on its way or cannot be brought.
   * @throws FairleadError see `Fleet.send`
   */
  send(id: string, text: string, request: string, signal: AbortSignal): Promise<void>;
  /** What has become of the prompt of a request. `lost`: it was given up. */
  promptState(request: string): 'none' | 'open' | 'arrived' | 'lost';
  /** How the last turn has ended, `open` while it runs; null before the first. */
  lastTurn(id: string): TurnOutcome | null;
  /** git in `folder`, as the person of the session, able to ask them. */
  git(session: SessionRecord, folder: string): Git;
}

export interface QueueContext {
  entries: EntryTable;
  handBacks: HandBackTable;
  sessions: QueuedSessions;
  events: FleetEvents;
  clock: Clock;
  ids: Ids;
  log: Log;
  paths: Paths;
  configFor(main: string): JoinedConfig;
  changed(entry: QueueEntry): void;
  /** Named points between two effects of a landing, where a fault test may end the process. */
  step(name: LandingStep): Promise<void> | void;
}

/** The effects of a landing, in their order; those of moving the base are named by `git/swap-together.ts`. */
export type LandingStep =
  | 'secured'
  | 'merged'
  | 'checked'
  | 'intended'
  | `swap-${SwapStep}`
  | 'swapped'
  | 'read-back'
  | 'followed'
  | 'settled'
  | 'hand-back-begun'
  | 'hand-back-merged'
  | 'hand-back-undone'
  | 'hand-back-asked'
  | 'hand-back-verified'
  | 'hand-back-settled';
