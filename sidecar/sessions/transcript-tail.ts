import { readTranscript, type TranscriptPosition } from '../agents/claude/transcript.ts';
import { foldHints, NO_HINTS, type TranscriptHints } from '../agents/claude/transcript-hints.ts';

/** Follows one transcript for what it tells of the agent's state. Holds a position, never the text. */
export class TranscriptTail {
  #path: string | undefined;
  #position: TranscriptPosition | undefined;
  #hints: TranscriptHints = NO_HINTS;

  /** From here on this transcript; another one than before is read from its start. */
  follow(path: string | undefined): void {
    if (path === this.#path) return;
    this.#path = path;
    this.#position = undefined;
    this.#hints = NO_HINTS;
  }

  /** What the transcript tells by now; undefined when there is none. */
  read(): TranscriptHints | undefined {
    if (this.#path === undefined) return undefined;
    for (let more = true; more; ) {
      const read = readTranscript(this.#path, this.#position);
      if (read === undefined) return undefined;
      this.#hints = foldHints(read.restarted ? NO_HINTS : this.#hints, read.rows);
      this.#position = read.position;
      more = read.more;
    }
    return this.#hints;
  }
}
