import type { TranscriptRow } from './transcript-row.ts';

/** A prompt that stands in the transcript: proof that it arrived, whatever became of the hook that tells it. */
export interface SaidPrompt {
  /** The same id that the agent's hooks give to the turn; null for a command of the CLI itself. */
  promptId: string | null;
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
}

const COMMAND = /^<command-name>([^<]*)<\/command-name>[\s\S]*?(?:<command-args>([\s\S]*)<\/command-args>|$)/;

/** What a person said; the CLI writes down more in their name, and its own commands in a form of their own. */
export function saidPrompt(row: TranscriptRow): SaidPrompt[] {
  if (row.kind !== 'prompt' || row.isSidechain || Number.isNaN(row.at)) return [];
  const command = COMMAND.exec(row.text.trim());
  if (command !== null) {
    return [{ promptId: null, text: `${command[1]} ${command[2] ?? ''}`.trim(), at: row.at }];
  }
  if (row.isMeta || row.promptId === null || /^\s*<(local-command|task-notification)/.test(row.text))
    return [];
  return [{ promptId: row.promptId, text: row.text, at: row.at }];
}
