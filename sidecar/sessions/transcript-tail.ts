import { readTranscript, type TranscriptPosition } from '../agents/claude/transcript.ts';
import { foldHints, NO_HINTS, type TranscriptHints } from '../agents/claude/transcript-hints.ts';
import type { TranscriptRow } from '../agents/claude/transcript-row.ts';

/** A prompt that stands in the transcript: proof that it arrived, whatever became of the hook that tells it. */
export interface SaidPrompt {
  /** The same id that the agent's hooks give to the turn; null for a command of the CLI itself. */
  promptId: string | null;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** So many prompts are remembered, newest last. */
const KEPT_PROMPTS = 32;

/** Follows one transcript for what it tells of the agent's state. Holds a position and the last prompts, no more. */
export class TranscriptTail {
  #path: string | undefined;
  #position: TranscriptPosition | undefined;
  #hints: TranscriptHints = NO_HINTS;
  #prompts: SaidPrompt[] = [];

  /** From here on this transcript; another one than before is read from its start. */
  follow(path: string | undefined): void {
    if (path === this.#path) return;
    this.#path = path;
    this.#position = undefined;
    this.#forget();
  }

  /** What the transcript tells by now; undefined when there is none. */
  read(): TranscriptHints | undefined {
    if (this.#path === undefined) return undefined;
    for (let more = true; more; ) {
      const read = readTranscript(this.#path, this.#position);
      if (read === undefined) return undefined;
      if (read.restarted) this.#forget();
      this.#hints = foldHints(this.#hints, read.rows);
      this.#prompts.push(...read.rows.flatMap(saidPrompt));
      this.#prompts.splice(0, this.#prompts.length - KEPT_PROMPTS);
      this.#position = read.position;
      more = read.more;
    }
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

const COMMAND = /^<command-name>([^<]*)<\/command-name>[\s\S]*?(?:<command-args>([\s\S]*)<\/command-args>|$)/;

/** What a person said; the CLI writes down more in their name, and its own commands in a form of their own. */
function saidPrompt(row: TranscriptRow): SaidPrompt[] {
  if (row.kind !== 'prompt' || row.isSidechain || Number.isNaN(row.at)) return [];
  const command = COMMAND.exec(row.text.trim());
  if (command !== null) {
    return [{ promptId: null, text: `${command[1]} ${command[2] ?? ''}`.trim(), at: row.at }];
  }
  if (row.isMeta || row.promptId === null || /^\s*<(local-command|task-notification)/.test(row.text))
    return [];
  return [{ promptId: row.promptId, text: row.text, at: row.at }];
}
