import { changedPaths, readStatus } from '../git/status.ts';
import { commitAll } from '../git/uncommitted.ts';
import { branchTip } from '../git/worktrees.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';

/** The commit that is to land, with everything in it that the agent left uncommitted. */
export type Secured = { kind: 'secured'; head: string } | Outcome;

/**
 * Commits what the agent left uncommitted, as the person. Never during a turn.
 * A branch without a worktree is taken as it is.
 */
export async function secureWork(context: QueueContext, session: SessionRecord): Promise<Secured> {
  const { sessions } = context;
  if (sessions.isInTurn(session.id)) {
    return waits('in-a-turn', 'Its agent is in a turn.', RETRY_MS.turn);
  }
  const main = sessions.repository(session.repository).main;
  if (session.life !== 'archived') {
    const git = sessions.git(session, session.worktree);
    const policy = context.configFor(main).land.uncommitted ?? 'commit';
    if (policy === 'refuse') {
      const paths = changedPaths(await readStatus(git));
      if (paths.length > 0) {
        return fails('uncommitted', `${paths.length} files are not committed.`, { paths });
      }
    } else {
      const refused = await commit(git, session);
      if (refused !== undefined) return refused;
    }
  }
  const head = await branchTip(sessions.git(session, main), session.branch);
  if (head === undefined) return fails('branch-missing', `The branch ${session.branch} does not exist.`);
  await context.step('secured');
  return { kind: 'secured', head };
}

async function commit(
  git: Parameters<typeof commitAll>[0],
  session: SessionRecord,
): Promise<Outcome | undefined> {
  const outcome = await commitAll(git, { message: session.title });
  switch (outcome.kind) {
    case 'committed':
    case 'nothing':
      return undefined;
    case 'hook-failed':
      return fails('commit-refused', `A commit hook refused the work: ${lastLine(outcome.output)}`);
    case 'in-progress':
      return waits('uncommitted', `A ${outcome.operation} is open in the worktree.`, RETRY_MS.person, {
        paths: outcome.paths,
      });
    case 'unmerged':
      return waits('uncommitted', 'The worktree has files in conflict.', RETRY_MS.person, {
        paths: outcome.paths,
      });
    case 'nested-repository':
      return fails(
        'uncommitted',
        'The worktree holds repositories of their own, whose files would be lost.',
        {
          paths: outcome.paths,
        },
      );
    case 'locked':
      return waits('infrastructure', 'Another git writes in the worktree (index.lock).', RETRY_MS.turn);
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
