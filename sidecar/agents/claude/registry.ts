import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import * as z from '../../protocol/zod.ts';

/** What the CLI says of one of its interactive processes in `<config dir>/sessions/<pid>.json`. */
export interface RegistryEntry {
  pid: number;
  agentSessionId: string;
  /** `idle`, `busy`, `waiting`, `shell` (idle with background work), or one that a newer CLI made up; null at first. */
  status: string | null;
  /** Of `waiting`: `permission prompt`, `input needed`, `dialog open`, `sandbox request`, … */
  waitingFor: string | null;
  /** When `status` began, milliseconds since the epoch. */
  statusAt: number;
  startedAt: number;
}

/** So long one reading serves every session that asks, in milliseconds: all of them are looked at together. */
const SHARED_MS = 250;

const MAX_BYTES = 64 * 1024;

const Entry = z.looseObject({
  pid: z.int().check(z.positive()),
  sessionId: z.string(),
  kind: z.optional(z.string()),
  status: z.catch(z.nullish(z.string()), null),
  waitingFor: z.catch(z.nullish(z.string()), null),
  statusUpdatedAt: z.catch(z.nullish(z.number()), null),
  updatedAt: z.catch(z.nullish(z.number()), null),
  startedAt: z.catch(z.nullish(z.number()), null),
});

/**
 * The entry of the process that has the conversation open. `alive` says whether a process exists: the file of one
 * that was killed stays, and its id may come round. Of several the one that started last. Undefined when there is
 * none, which is also so for a CLI that keeps no registry.
 */
export function readRegistry(
  configDir: string,
  agentSessionId: string,
  alive: (pid: number) => boolean,
): RegistryEntry | undefined {
  return entryOf(readEntries(configDir), agentSessionId, alive);
}

/** {@link readRegistry} for many conversations: the files are read once for those that ask at about the same time. */
export class SharedRegistry {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #read = new Map<string, { at: number; entries: readonly RegistryEntry[] }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  entry(
    configDir: string,
    agentSessionId: string,
    alive: (pid: number) => boolean,
  ): RegistryEntry | undefined {
    const now = this.#clock.monotonic();
    let read = this.#read.get(configDir);
    if (read === undefined || now - read.at >= SHARED_MS) {
      read = { at: now, entries: readEntries(configDir) };
      this.#read.set(configDir, read);
    }
    return entryOf(read.entries, agentSessionId, alive);
  }
}

function entryOf(
  entries: readonly RegistryEntry[],
  agentSessionId: string,
  alive: (pid: number) => boolean,
): RegistryEntry | undefined {
  let found: RegistryEntry | undefined;
  for (const entry of entries) {
    if (entry.agentSessionId !== agentSessionId || !alive(entry.pid)) continue;
    if (found === undefined || entry.startedAt > found.startedAt) found = entry;
  }
  return found;
}

function readEntries(configDir: string): RegistryEntry[] {
  const folder = join(configDir, 'sessions');
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  // The `.key` files beside them hold secrets.
  return names.flatMap((name) => (/^\d+\.json$/.test(name) ? (readEntry(join(folder, name)) ?? []) : []));
}

/** Undefined for a file that goes away, is being written, or is no entry of an interactive process. */
function readEntry(path: string): RegistryEntry | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_BYTES) return undefined;
    const { pid, sessionId, kind, status, waitingFor, statusUpdatedAt, updatedAt, startedAt } = Entry.parse(
      JSON.parse(readFileSync(fd, 'utf8')),
    );
    if (kind !== undefined && kind !== 'interactive') return undefined;
    return {
      pid,
      agentSessionId: sessionId,
      status: status ?? null,
      waitingFor: waitingFor ?? null,
      statusAt: statusUpdatedAt ?? updatedAt ?? stat.mtimeMs,
      startedAt: startedAt ?? 0,
    };
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
