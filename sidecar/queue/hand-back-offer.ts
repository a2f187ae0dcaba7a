import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { MAX_HAND_BACKS } from './hand-back-verdict.ts';
import { conflictWords, ontoOf } from './hand-back-words.ts';
import type { Conflict, Outcome } from './outcome.ts';

/** What a conflict becomes: handed back, or the person's at once where nobody can be asked. */
export function offerHandBack(
  { sessions, configFor }: QueueContext,
  entry: EntryRecord,
  session: SessionRecord,
  conflict: Conflict & { kind: 'conflict' },
): Outcome {
  const { land } = configFor(sessions.repository(session.repository).main);
  // One that has had no turn has written nothing.
  const hasAuthor = sessions.turnCount(session.id) > 0;
  const hasAgent = session.life !== 'archived' && session.git_dir !== null && hasAuthor;
  if (land.handBack === false || !hasAgent) return conflict;
  if (entry.tries >= MAX_HAND_BACKS) {
    const message = `${conflict.message} It was handed back ${entry.tries} times, and ${ontoOf(entry)} went on moving.`;
    return { ...conflict, message };
  }
  return {
    ...conflict,
    kind: 'handed-back',
    message: `${conflictWords(entry, conflict.paths)}; it goes back to its agent.`,
  };
}
