import { branchTip } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { type CommitAllOutcome, commitAll } from '../git/uncommitted.ts';
import { findMisplacedWork, type Misplaced } from '../git/work-place.ts';
import { inspectWorktree, requireWorktree } from '../git/worktree-faults.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import { notCommitted } from './land-request.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';

/** The commit that is to land, with everything in it that the agent left uncommitted. */
export type Secured = { kind: 'secured'; head: string } | Outcome;

/**
 * Commits what the agent left uncommitted, as the person. Never during a turn.
 * A branch whose worktree is gone is taken as it is.
 * @throws FairleadError `worktree.broken`, `git.no-identity`, `git.failed`, `disk.full`
 */
export async function secureWork(
  context: QueueContext,
  repository: Repository,
  session: SessionRecord,
): Promise<Secured> {
  const { sessions } = context;
  if (sessions.isInTurn(session.id)) return waits('in-a-turn', whyInTurn(session), RETRY_MS.turn);
  const turns = sessions.turnCount(session.id);
  const misplaced = await findMisplacedWork(repository, session);
  if (misplaced !== undefined) return elsewhere(misplaced);
  const isGone = inspectWorktree(repository, session.worktree, session.branch)?.kind === 'folder-missing';
  if (session.life !== 'archived' && !isGone) {
    const stopped = await commitWork(context, repository, session);
    if (stopped !== undefined) return stopped;
  }
  const head = await branchTip(repository.git, session.branch);
  if (head === undefined) return fails('branch-missing', `The branch ${session.branch} does not exist.`);
  // Commit hooks may run for minutes, and a prompt may arrive then: half of a turn is not to land.
  if (sessions.isInTurn(session.id) || sessions.turnCount(session.id) !== turns) {
    return waits('in-a-turn', 'Its agent began a turn while the work was committed.', RETRY_MS.turn);
  }
  await context.step('secured');
  return { kind: 'secured', head };
}

function whyInTurn({ agent_fact, reason }: SessionRecord): string {
  return agent_fact === 'needs-you' && reason !== null
    ? `Its agent needs you: ${reason.message}`
    : 'Its agent is in a turn.';
}

async function commitWork(
  context: QueueContext,
  repository: Repository,
  session: SessionRecord,
): Promise<Outcome | undefined> {
  const { sessions } = context;
  // A worktree that has lost its way home would take the commit into another repository.
  requireWorktree(repository, session.worktree, session.branch);
  const git = sessions.git(session, session.worktree);
  const { main } = sessions.repository(session.repository);
  if (context.configFor(main).land.uncommitted === 'refuse') {
    const paths = changedPaths(await readStatus(git));
    if (paths.length === 0) return undefined;
    return fails('uncommitted', notCommitted(paths), { paths });
  }
  return uncommitted(await commitAll(git, { message: session.title, branch: session.branch }));
}

function uncommitted(outcome: CommitAllOutcome): Outcome | undefined {
  switch (outcome.kind) {
    case 'committed':
    case 'nothing':
      return undefined;
    case 'hook-failed': {
      const said = outcome.output.trim().split('\n').at(-1) ?? '';
      return fails('commit-refused', `A commit hook refused the work: ${said}`);
    }
    case 'in-progress':
      return waits('uncommitted', `A ${outcome.operation} is open in the worktree.`, RETRY_MS.person, {
        paths: outcome.paths,
        demand: 'landing-stopped',
      });
    case 'unmerged':
      return waits('uncommitted', 'The worktree has files in conflict.', RETRY_MS.person, {
        paths: outcome.paths,
        demand: 'landing-stopped',
      });
    case 'nested-repository': {
      const message = 'The worktree holds repositories of their own, whose files would be lost.';
      return fails('uncommitted', message, { paths: outcome.paths });
    }
    case 'locked': {
      const message = 'Another git writes in the worktree. If none runs any more, remove its index.lock.';
      return waits('infrastructure', message, RETRY_MS.turn);
    }
  }
}

/** The worktree stands on another branch: what is in it would not land with the session's own. */
function elsewhere({ kind, message, hint }: Misplaced): Outcome {
  const text = `${message} ${hint}`;
  return kind === 'branch-missing'
    ? fails('branch-missing', text)
    : waits('uncommitted', text, RETRY_MS.person, { demand: 'landing-stopped' });
}
