import type { Output } from './output.ts';
import type { SidecarConnection } from './sidecar-connection.ts';

/** What every command gets: where it runs, how it writes, and the sidecar (started on first use). */
export interface CommandContext {
  folder: string;
  environment: Readonly<Record<string, string | undefined>>;
  output: Output;
  now(): number;
  /** Connects, starting the sidecar when there is none. */
  sidecar(): Promise<SidecarConnection>;
  /** The sidecar when it runs. */
  runningSidecar(): Promise<SidecarConnection | undefined>;
  /** Aborts at the first Ctrl-C. */
  signal: AbortSignal;
}
