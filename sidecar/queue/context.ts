import type { Git } from '../git/git.ts';
import type { SwapStep } from '../git/swap-together.ts';
import type { Clock } from '../platform/clock.ts';
import type { JoinedConfig } from '../platform/config.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Paths } from '../platform/paths.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import type { Reason } from '../protocol/reason.ts';
import type { LandingFact } from '../protocol/session.ts';
import type { FleetEvents } from '../sessions/events.ts';
import type { RepositoryRecord, SessionRecord } from '../sessions/record.ts';
import type { EntryTable } from './entry-table.ts';

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
  /** git in `folder`, as the person of the session, able to ask them. */
  git(session: SessionRecord, folder: string): Git;
}

export interface QueueContext {
  entries: EntryTable;
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
  | 'settled';
