import type { Upstream } from '../git/base.ts';
import { isAncestor, readRef } from '../git/refs.ts';
import { fetchRef, push } from '../git/remotes.ts';
import type { Repository } from '../git/repository.ts';
import { recoverBase, swapBase } from '../git/swap.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord, LandingIntent } from './entry-table.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';
import { readTargetBase, remoteTrouble, type TargetBase } from './target-base.ts';

/**
 * Moves the base to `commit` if it still is what was seen, and says `landed` only after reading it back. The intent
 * is stored; it goes when it is certain that nothing moved, and stays while that is not known.
 */
export function moveBase(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase,
  commit: string,
): Promise<Outcome> {
  return base.upstream === undefined
    ? moveLocal(context, repository, entry, base.commit, commit)
    : moveRemote(context, repository, entry, { ...base, upstream: base.upstream }, commit);
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
): Promise<Outcome> {
  if (entry.target === 'local') {
    const recovered = await recoverBase(repository, entry.base);
    if (recovered?.kind === 'busy') return waits('infrastructure', recovered.text, RETRY_MS.infrastructure);
    if (recovered?.kind === 'blocked') {
      return waits('folder-in-the-way', recovered.text, RETRY_MS.person, { paths: recovered.paths });
    }
  }
  const base = await readTargetBase(context, entry, repository);
  if (base.kind !== 'base') return base;
  if (!(await isAncestor(repository.git, intent.new_commit, base.commit))) return { kind: 'again' };
  return landed(context, repository, entry, base.upstream, intent.new_commit);
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
    (step) => context.step(`swap-${step}`),
  );
  switch (swapped.kind) {
    case 'base-moved':
      return { kind: 'base-moved' };
    case 'folder-refuses':
      context.entries.dropIntent(entry.id);
      return waits('folder-in-the-way', swapped.text, RETRY_MS.person, { paths: swapped.paths });
    case 'infrastructure':
      return waits('infrastructure', swapped.text, RETRY_MS.infrastructure);
    case 'moved':
      break;
  }
  await context.step('swapped');
  const now = await readRef(repository.git, `refs/heads/${entry.base}`);
  if (now === undefined || !(await isAncestor(repository.git, commit, now))) return { kind: 'base-moved' };
  await context.step('read-back');
  return landed(context, repository, entry, undefined, commit);
}

async function moveRemote(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  base: TargetBase & { upstream: Upstream },
  commit: string,
): Promise<Outcome> {
  const { upstream } = base;
  const pushed = await push(repository.git, {
    remote: upstream.remote,
    ref: upstream.ref,
    commit,
    seen: base.commit,
  });
  switch (pushed.kind) {
    case 'base-moved':
      return { kind: 'base-moved' };
    case 'refused':
    case 'local-hook':
      context.entries.dropIntent(entry.id);
      return waits(
        'base-refuses-pushes',
        `${upstream.remote} refuses the push: ${pushed.text}`,
        RETRY_MS.refused,
        {
          demand: 'base-refuses-pushes',
        },
      );
    case 'retry':
      return waits('infrastructure', pushed.text, RETRY_MS.infrastructure);
    case 'unreachable':
      return remoteTrouble(upstream.remote, pushed.trouble, pushed.text);
    case 'landed':
    case 'up-to-date':
      break;
  }
  await context.step('swapped');
  const read = await fetchRef(repository, upstream);
  if (read.kind === 'missing-ref') return fails('base-missing', `${upstream.remote} lost ${entry.base}.`);
  if (read.kind !== 'ok') return remoteTrouble(upstream.remote, read.kind, read.text);
  if (!(await isAncestor(repository.git, commit, read.commit))) return { kind: 'base-moved' };
  await context.step('read-back');
  return landed(context, repository, entry, upstream, commit);
}

/** The base has it. A local base behind a remote follows when it can; when not, the person is told. */
async function landed(
  context: QueueContext,
  repository: Repository,
  entry: EntryRecord,
  upstream: Upstream | undefined,
  commit: string,
): Promise<Outcome> {
  context.entries.keepBaseSeen(entry.repository, entry.base, entry.target, commit);
  const note = upstream === undefined ? null : await followRemote(repository, entry, commit);
  await context.step('followed');
  return { kind: 'landed', commit, note };
}

async function followRemote(
  repository: Repository,
  entry: EntryRecord,
  commit: string,
): Promise<string | null> {
  const { git } = repository;
  const local = await readRef(git, `refs/heads/${entry.base}`);
  if (local === undefined || (await isAncestor(git, commit, local))) return null;
  if (!(await isAncestor(git, local, commit))) {
    return `Your local ${entry.base} has commits of its own and stays as it is.`;
  }
  const followed = await swapBase(repository, {
    branch: entry.base,
    from: local,
    to: commit,
    message: `fairlead: follow ${entry.remote}`,
  });
  if (followed.kind === 'moved') return null;
  const why = followed.kind === 'base-moved' ? 'it moved meanwhile' : followed.text;
  return `Your local ${entry.base} stays behind: ${why}`;
}
