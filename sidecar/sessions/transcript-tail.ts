import type { SaidPrompt } from '../agents/claude/said-prompt.ts';
import type { TranscriptPosition } from '../agents/claude/transcript.ts';
import { mergeHints, NO_HINTS, type TranscriptHints } from '../agents/claude/transcript-hints.ts';
import { KEPT_PROMPTS } from '../agents/claude/transcript-news.ts';
import type { TranscriptScanner } from '../cost/transcript-scanner.ts';

/** Follows one transcript for what it tells of the agent's state. Holds a position and the last prompts, no more. */
export class TranscriptTail {
  readonly #scanner: Pick<TranscriptScanner, 'news'>;
  #path: string | undefined;
  #position: TranscriptPosition | undefined;
  #hints: TranscriptHints = NO_HINTS;
  #prompts: SaidPrompt[] = [];

  constructor(scanner: Pick<TranscriptScanner, 'news'>) {
    this.#scanner = scanner;
  }

  /** From here on this transcript; another one than before is read from its start. */
  follow(path: string | undefined): void {
    if (path === this.#path) return;
    this.#path = path;
    this.#position = undefined;
    this.#forget();
  }

  /**
   * What the transcript tells by now; undefined when there is none. Not to be called again before it has resolved.
   * @throws FairleadError `transcript.interrupted`, `transcript.unreadable`
   */
  async read(): Promise<TranscriptHints | undefined> {
    const path = this.#path;
    if (path === undefined) return undefined;
    const news = await this.#scanner.news(path, this.#position);
    if (news === undefined || path !== this.#path) return undefined;
    if (news.restarted) this.#forget();
    this.#hints = mergeHints(this.#hints, news.hints);
    this.#prompts = [...this.#prompts, ...news.prompts].slice(-KEPT_PROMPTS);
    this.#position = news.position;
    return this.#hints;
  }

  /** The last prompts as of the last {@link read}, in the order of the transcript. */
  get prompts(): readonly SaidPrompt[] {
    return this.#prompts;
  }

  #forget(): void {
    this.#hints = NO_HINTS;
    this.#prompts = [];
  }
}
