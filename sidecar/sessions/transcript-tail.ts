import type { SaidPrompt } from '../agents/claude/said-prompt.ts';
import type { TranscriptPosition } from '../agents/claude/transcript.ts';
import { mergeHints, NO_HINTS, type TranscriptHints } from '../agents/claude/transcript-hints.ts';
import { KEPT_PROMPTS } from '../agents/claude/transcript-news.ts';
import type { TranscriptScanner } from '../cost/transcript-scanner.ts';
import type { Clock } from '../platform/clock.ts';
import { inTime } from './in-time.ts';
import type { Trouble } from './trouble.ts';

/** So long a look waits for what a transcript tells, in milliseconds: everything else that it sees does not depend on it. */
const WAIT_MS = 1_000;

/**
 * Follows one transcript for what it tells of the agent's state. Holds a position and the last prompts, no more. It is
 * one signal among several: where it cannot be read, what it told last stands.
 */
export class TranscriptTail {
  readonly #scanner: Pick<TranscriptScanner, 'news'>;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #trouble: Trouble;
  #path: string | undefined;
  #position: TranscriptPosition | undefined;
  #hints: TranscriptHints = NO_HINTS;
  #prompts: SaidPrompt[] = [];
  /** The last reading found it. */
  #isThere = false;
  /** A reading that goes on; it is waited for once. */
  #reading: { path: string; done: Promise<void>; isLate: boolean } | undefined;

  constructor(scanner: Pick<TranscriptScanner, 'news'>, clock: Pick<Clock, 'after'>, trouble: Trouble) {
    this.#scanner = scanner;
    this.#clock = clock;
    this.#trouble = trouble;
  }

  /** From here on this transcript; another one than before is read from its start. */
  follow(path: string | undefined): void {
    if (path === this.#path) return;
    this.#path = path;
    this.#position = undefined;
    this.#isThere = false;
    this.#forget();
    this.#reading = undefined;
  }

  /**
   * What the transcript tells by now, or told when it could last be read in time; undefined when there is none.
   * Never rejects.
   */
  async read(): Promise<TranscriptHints | undefined> {
    const path = this.#path;
    if (path === undefined) return undefined;
    // One that goes on may have passed by what was written since.
    if (this.#reading === undefined || (await this.#isOver(this.#reading))) {
      if (this.#path === path) await this.#isOver(this.#begin(path));
    }
    return this.#path === path && this.#isThere ? this.#hints : undefined;
  }

  /** The last prompts as of the last {@link read}, in the order of the transcript. */
  get prompts(): readonly SaidPrompt[] {
    return this.#prompts;
  }

  #begin(path: string): { done: Promise<void>; isLate: boolean } {
    const reading = { path, done: Promise.resolve(), isLate: false };
    reading.done = this.#readOn(path, () => this.#reading === reading);
    this.#reading = reading;
    return reading;
  }

  async #isOver(reading: { done: Promise<void>; isLate: boolean }): Promise<boolean> {
    if (reading.isLate) return false;
    const isOver = await inTime(this.#clock, WAIT_MS, reading.done);
    reading.isLate = !isOver;
    return isOver;
  }

  /** Never rejects. */
  async #readOn(path: string, isAwaited: () => boolean): Promise<void> {
    try {
      const news = await this.#scanner.news(path, this.#position);
      if (!isAwaited()) return;
      this.#trouble.isOver('transcript not read');
      this.#isThere = news !== undefined;
      if (news === undefined) return;
      if (news.restarted) this.#forget();
      this.#hints = mergeHints(this.#hints, news.hints);
      this.#prompts = [...this.#prompts, ...news.prompts].slice(-KEPT_PROMPTS);
      this.#position = news.position;
    } catch (error) {
      this.#trouble.tell('transcript not read', error);
    } finally {
      if (isAwaited()) this.#reading = undefined;
    }
  }

  #forget(): void {
    this.#hints = NO_HINTS;
    this.#prompts = [];
  }
}
