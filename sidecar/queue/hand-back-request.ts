import { readCommits } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import { isAncestor, mergeBase } from '../git/refs.ts';
import { inspectWorktree } from '../git/worktree-faults.ts';
import { type Look, operationIn } from './hand-back-look.ts';
import type { LandedCommit, PromptRequest } from './hand-back-prompt.ts';
import type { HandBackRecord } from './hand-back-table.ts';
import { ontoOf } from './hand-back-words.ts';

/** Commits of the base that the agent is told of. */
const TOLD_COMMITS = 12;

/** Reads from git what the agent is told of its conflict. */
export async function readPromptRequest(look: Look): Promise<PromptRequest> {
  const { entry, row, session, repository } = look;
  const isThere = inspectWorktree(repository, session.worktree, session.branch) === undefined;
  const isOpen = isThere && (await operationIn(look)) === 'merge';
  const isMerged = await isAncestor(repository.git, row.base_commit, `refs/heads/${session.branch}`);
  return {
    onto: ontoOf(entry),
    branch: session.branch,
    title: session.title,
    base: row.base_commit,
    paths: row.paths,
    landed: await landedOn(repository.git, row),
    missing: row.missing,
    merge: isOpen ? 'open' : isMerged ? 'committed' : 'elsewhere',
  };
}

/** What landed on the base meanwhile and touches what is in conflict: what brought it first, then its own commits. */
async function landedOn(git: Git, { tip, base_commit, paths }: HandBackRecord): Promise<LandedCommit[]> {
  const since = (from: string) => [`--max-count=${TOLD_COMMITS}`, base_commit, `^${from}`, '--'];
  const where = paths.filter((path) => path.isWellFormed()).map((path) => `:(top,literal)${path}`);
  if (where.length === 0) return [];
  // Along first parents, a tip that is no ancestor would hide the merges by which work has landed.
  const fork = (await mergeBase(git, tip, base_commit)) ?? tip;
  const brought = await readCommits(git, '--first-parent', ...since(fork), ...where);
  const own = await readCommits(git, '--no-merges', ...since(tip), ...where);
  const known = new Set(brought.map(({ id }) => id));
  return [...brought, ...own.filter(({ id }) => !known.has(id))].map(({ id, subject, message }) => ({
    id,
    subject,
    body: message.split('\n').slice(1).join('\n'),
  }));
}
