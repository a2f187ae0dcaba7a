import type { EntryReason } from '../protocol/entry.ts';
import { asFairleadError, type ErrorCode } from '../protocol/errors.ts';
import { type Outcome, RETRY_MS, waits } from './outcome.ts';

/** What cannot mend itself: the person is called at once. The others are tried again a few times first. */
const FOR_PERSON: readonly ErrorCode[] = [
  'config.invalid',
  'disk.full',
  'git.missing',
  'git.no-identity',
  'git.signing-failed',
  'git.too-old',
  'repo.bare',
  'repo.missing',
  'repo.unsafe',
  'worktree.broken',
];

const REASON: Partial<Record<ErrorCode, EntryReason>> = {
  'git.signing-failed': 'signing-failed',
  'repo.missing': 'repository-missing',
};

/** What an error that ended an attempt means for its entry: never a try, and never silence. Pure. */
export function troubleOf(thrown: unknown): Outcome {
  const error = asFairleadError(thrown);
  if (!FOR_PERSON.includes(error.code)) {
    return waits('infrastructure', withHint(error), RETRY_MS.infrastructure);
  }
  // Each try may ask for the key, on somebody's screen.
  const retryMs = error.code === 'git.signing-failed' ? RETRY_MS.refused : RETRY_MS.infrastructure;
  return waits(REASON[error.code] ?? 'infrastructure', withHint(error), retryMs, {
    demand: 'landing-stopped',
    isTrouble: true,
  });
}

/** The sentence, and what to do. */
export function withHint(error: unknown): string {
  const known = asFairleadError(error);
  const { message, hint } = known;
  return hint === undefined || known.code === 'internal' ? message : `${message} ${closed(hint)}`;
}

function closed(text: string): string {
  return /[.!?…"]$/.test(text) ? text : `${text}.`;
}
