import type { Exit, Size } from '../protocol/ptywire.ts';
import type { Cursor } from './output-log.ts';

/** How far a client may stay behind before it gets a snapshot instead of what it missed, in bytes. */
export const RETAINED = 1024 * 1024;

/** One client's stream of a terminal. The terminal calls these; none of them may throw. */
export interface TerminalClient {
  /**
   * `joining` and `lagging` ones wait for a snapshot: the first at once, the second when it has room for it.
   * `live` ones follow the output.
   */
  readonly state: 'joining' | 'live' | 'lagging';
  readonly answersQueries: boolean;
  /** What was sent so far. */
  readonly cursor: Cursor;
  /** Its window is full. */
  readonly full: boolean;
  /** Monotonic time of the last acknowledgement, or of the attaching. */
  readonly heardAt: number;
  /** Ready for a snapshot: everything that was sent is acknowledged. */
  readonly wantsSnapshot: boolean;
  /** There may be something to send. */
  pump(): void;
  snapshot(snapshot: Snapshot): void;
  /** Too far behind: what it missed is gone. */
  lag(): void;
  /** All output is in the log; after the last of it the client is told the exit. */
  exited(exit: Exit): void;
}

export interface Snapshot {
  at: Cursor;
  size: Size;
  /** Text for the screen, or for screen and kept rows. */
  paint(scrollback: number): string;
  keptRows: number;
}
