import { requireOwnWorktree } from '../git/worktree-faults.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import type { RepositoryRecord, SessionRecord } from './record.ts';

/** What the person is needed for when worktree or repository of a session are not where they were. Looks at files only. */
export function missingPlace(
  session: SessionRecord,
  repository: Pick<RepositoryRecord, 'common_dir'>,
): Reason | undefined {
  if (session.git_dir === null || session.life === 'archived') return undefined;
  try {
    requireOwnWorktree({ commonDir: repository.common_dir }, session.worktree, session.branch);
    return undefined;
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error;
    const { message, hint } = error;
    return { kind: 'worktree-missing', message: hint === undefined ? message : `${message} ${hint}` };
  }
}
