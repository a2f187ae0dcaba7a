import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../platform/log.ts';

export interface ScrollbackLimits {
  /** Size at which a chunk file is closed and the next begun, in bytes. */
  chunkBytes: number;
  /** Most bytes that stay on disk for one terminal; the oldest chunks go first. */
  totalBytes: number;
  /** Most bytes that wait for the disk; what is older is left out. */
  queuedBytes: number;
}

export const SCROLLBACK_LIMITS: ScrollbackLimits = {
  chunkBytes: 1024 * 1024,
  totalBytes: 16 * 1024 * 1024,
  queuedBytes: 4 * 1024 * 1024,
};

/** After the disk refused a write, how long output is not offered to it, in milliseconds. */
const REFUSED_MS = 30_000;

interface Chunk {
  start: number;
  bytes: number;
}

/**
 * The raw output of one terminal as files `<position>.raw` in a folder of its own, readable by this user alone. Best
 * effort by design: a disk that is slow or full costs old output, never the terminal.
 */
export class ScrollbackFile {
  readonly #folder: string;
  readonly #limits: ScrollbackLimits;
  readonly #log: Log;
  readonly #monotonic: () => number;
  #chunks: Chunk[] = [];
  #queue: { position: number; bytes: Buffer }[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | undefined;
  #refusedUntil = 0;
  #removed = false;

  constructor(
    folder: string,
    log: Log,
    monotonic: () => number,
    limits: ScrollbackLimits = SCROLLBACK_LIMITS,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#log = log;
    this.#monotonic = monotonic;
  }

  append(position: number, bytes: Buffer): void {
    if (this.#removed || this.#monotonic() < this.#refusedUntil) return;
    this.#queue.push({ position, bytes });
    this.#queuedBytes += bytes.length;
    while (this.#queuedBytes > this.#limits.queuedBytes) {
      this.#queuedBytes -= this.#queue.shift()?.bytes.length ?? 0;
    }
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when nothing waits for the disk any more. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** At most `bytes` bytes that end at `before`, without a gap in them; empty when there are none. */
  async read(before: number, bytes: number): Promise<{ start: number; data: Buffer }> {
    await this.flushed();
    let end = before;
    let wanted = bytes;
    const parts: Buffer[] = [];
    for (const chunk of [...this.#chunks].reverse()) {
      if (wanted === 0) break;
      if (chunk.start >= end) continue;
      const stop = Math.min(end, chunk.start + chunk.bytes);
      if (stop < end && parts.length > 0) break;
      const start = Math.max(chunk.start, stop - wanted);
      const file = await open(this.#fileOf(chunk.start), 'r');
      try {
        const part = Buffer.alloc(stop - start);
        const { bytesRead } = await file.read(part, 0, part.length, start - chunk.start);
        parts.unshift(part.subarray(0, bytesRead));
      } finally {
        await file.close();
      }
      end = start;
      wanted -= stop - start;
    }
    return { start: end, data: Buffer.concat(parts) };
  }

  remove(): void {
    this.#removed = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#chunks = [];
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #write(): Promise<void> {
    // One turn later, so that the pieces of a burst go to the disk together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0 && !this.#removed) {
      const batch = this.#nextBatch();
      try {
        await this.#writeBatch(batch.position, batch.bytes);
      } catch (error) {
        if (this.#removed) return;
        this.#refusedUntil = this.#monotonic() + REFUSED_MS;
        this.#queue = [];
        this.#queuedBytes = 0;
        this.#log.warn('scrollback.refused', { folder: this.#folder, error });
      }
    }
  }

  /** The longest stretch without a gap, up to the size of a chunk. */
  #nextBatch(): { position: number; bytes: Buffer } {
    const [head, ...rest] = this.#queue;
    if (head === undefined) return { position: 0, bytes: Buffer.alloc(0) };
    const parts = [head.bytes];
    let end = head.position + head.bytes.length;
    for (const next of rest) {
      if (next.position !== end || end - head.position >= this.#limits.chunkBytes) break;
      parts.push(next.bytes);
      end += next.bytes.length;
    }
    this.#queue.splice(0, parts.length);
    this.#queuedBytes -= end - head.position;
    return { position: head.position, bytes: Buffer.concat(parts) };
  }

  async #writeBatch(position: number, bytes: Buffer): Promise<void> {
    let chunk = this.#chunks.at(-1);
    if (
      chunk === undefined ||
      chunk.start + chunk.bytes !== position ||
      chunk.bytes >= this.#limits.chunkBytes
    ) {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      chunk = { start: position, bytes: 0 };
      this.#chunks.push(chunk);
    }
    const file = await open(this.#fileOf(chunk.start), 'a', 0o600);
    try {
      await file.writeFile(bytes);
      chunk.bytes += bytes.length;
    } finally {
      await file.close();
    }
    await this.#prune();
    if (this.#removed) rmSync(this.#folder, { recursive: true, force: true });
  }

  async #prune(): Promise<void> {
    let total = this.#chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
    while (total > this.#limits.totalBytes && this.#chunks.length > 1) {
      const oldest = this.#chunks.shift();
      if (oldest === undefined) return;
      total -= oldest.bytes;
      await unlink(this.#fileOf(oldest.start));
    }
  }

  #fileOf(start: number): string {
    return join(this.#folder, `${String(start).padStart(16, '0')}.raw`);
  }
}

/** Removes what a ptyhost that was killed left behind: at its start a host has no terminals. */
export function removeOldScrollback(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
