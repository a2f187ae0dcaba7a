import type { TranscriptScanner } from '../cost/transcript-scanner.ts';
import { Git } from '../git/git.ts';
import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Paths } from '../platform/paths.ts';
import type { Deadline } from '../platform/patience.ts';
import type { FleetEvents } from './events.ts';
import type { SessionTable } from './table.ts';

/** Points between two effects, for fault tests that end the process there. */
export type SessionStep =
  | 'session-planned'
  | 'worktree-made'
  | 'launch-stored'
  | 'launch-written'
  | 'terminal-made'
  | 'ending-stored'
  | 'agent-ended'
  | 'events-kept'
  | 'prompt-stored'
  | 'prompt-sent'
  | 'prompt-pasted'
  | 'prompt-typed';

/** What everything about sessions works with; made once, by the composition root. */
export interface SessionContext {
  table: SessionTable;
  events: FleetEvents;
  clock: Clock;
  ids: Ids;
  log: Log;
  paths: Paths;
  transcripts: TranscriptScanner;
  /** The person's settings joined with those of the repository at `main`. Read anew each time: a person edits them. */
  configFor(main: string): Config;
  /** Variables that let git and ssh reach the person: askpass, agent. Laid over a session's environment. */
  networkEnvironment(): Record<string, string>;
  /** See `GitSetup.deadline`. */
  deadline?: (ms: number, asking?: AbortSignal) => Deadline;
  step?(name: SessionStep): void;
}

/** git as the session's person would run it, able to ask them. */
export function gitOf(
  context: SessionContext,
  environment: Readonly<Record<string, string>>,
  folder: string,
): Git {
  return new Git(folder, {
    environment: { ...environment, ...context.networkEnvironment() },
    deadline: context.deadline,
  });
}
