import type { Upstream } from '../git/base.ts';
import { systemChildren } from '../git/children.ts';
import { liveGits } from '../git/live-gits.ts';
import { isAncestor, isInHistory, readRef } from '../git/refs.ts';
import { fetchRef, push } from '../git/remotes.ts';
import type { Repository } from '../git/repository.ts';
import { findRefusal, recoverBase, swapBase } from '../git/swap.ts';
import type { SwapOutcome, SwapStep } from '../git/swap-together.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord, LandingIntent } from './entry-table.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';
import { readTargetBase, remoteTrouble, type TargetBase } from './target-base.ts';
import { troubleOf } from './trouble.ts';

/** The variable that a push carries, so that one that outlives us can be found. */
const PUSH_MARKER = 'FAIRLEAD_PUSH';

/**
 * Moves the base to `commit` if it still is what was seen, and says `landed` only after reading it back. The intent
 * is stored; it is closed when it is certain that nothing moved, and stays open while that is not known. When `signal`
 * aborts nobody is asked any more; a push is not cut off, since what the remote makes of it could not be told then.
 */
export function moveBase(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase,
  commit: string,
  signal: AbortSignal,
): Promise<Outcome> {
  return base.upstream === undefined
    ? moveLocal(context, repository, entry, base.commit, commit)
    : moveRemote(context, repository, entry, { ...base, upstream: base.upstream }, commit, signal);
}

/** What would keep the base from moving to `commit` now: a folder that has it checked out and would lose something. */
export async function lookForObstacle(
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase,
  commit: string,
): Promise<Outcome | undefined> {
  if (base.upstream !== undefined) return undefined;
  const refusal = await findRefusal(repository, { branch: entry.base, from: base.commit, to: commit });
  return refusal === undefined ? undefined : inTheWay(refusal);
}

function inTheWay({ text, paths }: Extract<SwapOutcome, { kind: 'folder-refuses' }>): Outcome {
  return waits('folder-in-the-way', text, RETRY_MS.person, { paths });
}

/**
 * What became of an intent that was found: landed when the base has the intended commit, else not, and then it is
 * tried again from the start. Decided by reachability alone.
 */
export async function resolveIntent(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  intent: LandingIntent,
  signal: AbortSignal,
): Promise<Outcome> {
  if (entry.target === 'local') {
    const recovered = await recoverBase(repository, entry.base);
    if (recovered?.kind === 'busy') return waits('infrastructure', recovered.text, RETRY_MS.infrastructure);
    if (recovered?.kind === 'blocked') {
      return waits('folder-in-the-way', recovered.text, RETRY_MS.person, { paths: recovered.paths });
    }
  } else if (await isPushed(repository, intent.new_commit)) {
    return waits('infrastructure', 'A push that was begun before is still under way.', RETRY_MS.person);
  }
  const base = await readTargetBase(entry, repository, signal);
  if (base.kind !== 'base') return base;
  if (!(await isInHistory(repository.git, intent.new_commit, base.commit))) return { kind: 'again' };
  return landed(context, repository, entry, base, intent.new_commit);
}

/** Whether a git that outlived a sidecar is pushing the commit. Where the system does not tell, it is not known. */
async function isPushed({ git, commonDir }: Repository, commit: string): Promise<boolean> {
  const environment = cleanEnvironment(git.setup.environment);
  const tools = { children: git.setup.children ?? systemChildren, environment };
  const { own } = await liveGits(commonDir, `${PUSH_MARKER}=${commit}`, tools);
  return own.length > 0;
}

async function moveLocal(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  seen: string,
  commit: string,
): Promise<Outcome> {
  const swapped = await swapBase(
    repository,
    { branch: entry.base, from: seen, to: commit, message: `fairlead: land ${entry.branch}` },
    stepsOf(context),
  );
  switch (swapped.kind) {
    case 'base-moved':
      return { kind: 'base-moved' };
    case 'folder-refuses':
      context.entries.closeIntent(entry.id);
      return inTheWay(swapped);
    case 'infrastructure':
      return swapped.cause === undefined
        ? waits('infrastructure', swapped.text, RETRY_MS.infrastructure)
        : troubleOf(swapped.cause);
    case 'moved':
      break;
  }
  await context.step('swapped');
  const now = await readRef(repository.git, `refs/heads/${entry.base}`);
  if (now === undefined || !(await isAncestor(repository.git, commit, now))) return { kind: 'base-moved' };
  await context.step('read-back');
  return landed(context, repository, entry, { kind: 'base', commit: now, upstream: undefined }, commit);
}

async function moveRemote(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase & { upstream: Upstream },
  commit: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { upstream } = base;
  const { remote, ref } = upstream;
  const pushed = await push(
    repository.git,
    { remote, ref, commit, seen: base.commit },
    { env: { [PUSH_MARKER]: commit }, asking: signal },
  );
  switch (pushed.kind) {
    case 'base-moved':
      return { kind: 'base-moved' };
    case 'refused':
      return refused(context, entry, `${remote} refuses the push: ${pushed.text}`);
    case 'local-hook':
      return refused(context, entry, `Your pre-push hook refuses the push to ${remote}: ${pushed.text}`);
    case 'retry':
      return waits('infrastructure', `${remote}: ${pushed.text}`, RETRY_MS.infrastructure);
    case 'unreachable':
      return remoteTrouble(remote, pushed.trouble, pushed.text);
    case 'landed':
    case 'up-to-date':
      break;
  }
  await context.step('swapped');
  const read = await fetchRef(repository, upstream, { asking: signal });
  if (read.kind === 'missing-ref') return fails('base-missing', `${remote} lost ${entry.base}.`);
  if (read.kind !== 'ok') return remoteTrouble(remote, read.kind, read.text);
  if (!(await isAncestor(repository.git, commit, read.commit))) return { kind: 'base-moved' };
  await context.step('read-back');
  return landed(context, repository, entry, { kind: 'base', commit: read.commit, upstream }, commit);
}

function refused(context: QueueContext, entry: EntryRecord, message: string): Outcome {
  context.entries.closeIntent(entry.id);
  return waits('base-refuses-pushes', message, RETRY_MS.refused, { demand: 'base-refuses-pushes' });
}

/** The base, as read, has `commit`. A local base behind a remote follows when it can; when not, the person is told. */
export async function landed(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase,
  commit: string,
): Promise<Outcome> {
  context.entries.keepBaseSeen(entry.repository, entry.base, entry.target, base.commit);
  const note = base.upstream === undefined ? null : await follow(context, repository, entry, base.commit);
  await context.step('followed');
  return { kind: 'landed', commit, note };
}

/** Brings the local base to where the remote's is. @returns why it stays behind, or null */
async function follow(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  commit: string,
): Promise<string | null> {
  const { git } = repository;
  const unfinished = await recoverBase(repository, entry.base);
  if (unfinished?.kind === 'busy' || unfinished?.kind === 'blocked')
    return staysBehind(entry, unfinished.text);
  const local = await readRef(git, `refs/heads/${entry.base}`);
  if (local === undefined || (await isAncestor(git, commit, local))) return null;
  if (!(await isAncestor(git, local, commit))) {
    return `Your local ${entry.base} has commits of its own and stays as it is.`;
  }
  const followed = await swapBase(
    repository,
    { branch: entry.base, from: local, to: commit, message: `fairlead: follow ${entry.remote}` },
    stepsOf(context),
  );
  if (followed.kind === 'moved') return null;
  return staysBehind(entry, followed.kind === 'base-moved' ? 'it moved meanwhile.' : followed.text);
}

function staysBehind(entry: EntryRecord, why: string): string {
  return `Your local ${entry.base} stays behind: ${why}`;
}

function stepsOf(context: QueueContext): (step: SwapStep) => Promise<void> {
  return async (step) => context.step(`swap-${step}`);
}
