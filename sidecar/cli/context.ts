import { FairleadError } from '../protocol/errors.ts';
import type { Output } from './output.ts';
import type { SidecarConnection } from './sidecar-connection.ts';

/** What every command gets: where it runs, how it writes, and the sidecar (started on first use). */
export interface CommandContext {
  /** Where the person stands; null when that folder is gone. */
  folder: string | null;
  environment: Readonly<Record<string, string | undefined>>;
  output: Output;
  now(): number;
  /** Connects, starting the sidecar when there is none. */
  sidecar(): Promise<SidecarConnection>;
  /** The sidecar when it runs. With `anyVersion` also one that only can be ended. */
  runningSidecar(options?: { anyVersion: boolean }): Promise<SidecarConnection | undefined>;
  /** Aborts at the first Ctrl-C. */
  signal: AbortSignal;
}

/** @throws FairleadError `repo.missing` */
export function requireFolder({ folder }: CommandContext): string {
  if (folder !== null) return folder;
  throw new FairleadError('repo.missing', 'The folder that you are in is gone.', {
    hint: 'Go to a folder of the repository (cd), then run it again.',
  });
}
