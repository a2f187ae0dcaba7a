import { type SaidPrompt, saidPrompt } from './said-prompt.ts';
import { readTranscript, type TranscriptPosition } from './transcript.ts';
import { foldHints, mergeHints, NO_HINTS, type TranscriptHints } from './transcript-hints.ts';

/** So many prompts are remembered, newest last. */
export const KEPT_PROMPTS = 32;

/** What a transcript tells of the agent's state from one position to another. Plain data. */
export interface TranscriptNews {
  position: TranscriptPosition;
  /** The file is another one than before: what was known of it does not count. */
  restarted: boolean;
  /** Of the rows between the positions alone; see `mergeHints`. */
  hints: TranscriptHints;
  /** The last prompts among those rows, newest last. */
  prompts: SaidPrompt[];
  /** There is more; read on from `position`. */
  more: boolean;
}

/**
 * Reads at most about `maxBytes` of what was appended since `from`. Undefined when there is no such file.
 * @throws what the file system says when it is there and cannot be read
 */
export function readNews(
  path: string,
  from: TranscriptPosition | undefined,
  maxBytes: number,
): TranscriptNews | undefined {
  const read = readTranscript(path, from, { maxBytes });
  if (read === undefined) return undefined;
  const { rows, position, restarted, more } = read;
  const prompts = rows.flatMap(saidPrompt).slice(-KEPT_PROMPTS);
  return { position, restarted, hints: foldHints(NO_HINTS, rows), prompts, more };
}

/** Two pieces of news of one transcript, the second of which goes on where the first ended, as one. */
export function joinNews(first: TranscriptNews | undefined, second: TranscriptNews): TranscriptNews {
  if (first === undefined || second.restarted) return second;
  return {
    ...second,
    restarted: first.restarted,
    hints: mergeHints(first.hints, second.hints),
    prompts: [...first.prompts, ...second.prompts].slice(-KEPT_PROMPTS),
  };
}
