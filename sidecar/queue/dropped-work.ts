import { upstreamOf } from '../git/base.ts';
import { droppedCommits } from '../git/dropped-commits.ts';
import { type Git, textOf } from '../git/git.ts';
import { readRef } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { quoteWord } from '../platform/shell.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import type { TargetBase } from './target-base.ts';

/** So many commits are named in a sentence, each with so much of its subject. */
const NAMED = 5;
const LINE_LENGTH = 80;

/**
 * Why an entry must not land unasked: its branch has commits that somebody has taken off the base, and landing would
 * bring them back. Undefined when it has none, or when the person was told of them all and landed again.
 * @returns a sentence that names them and says what to do
 * @throws FairleadError `git.failed`
 */
export async function findDroppedWork(
  context: QueueContext,
  repository: Repository,
  {
    entry,
    session,
    base,
  }: { entry: EntryRecord & { head: string }; session: SessionRecord; base: TargetBase },
): Promise<string | undefined> {
  const { git } = repository;
  const local = `refs/heads/${entry.base}`;
  const followed = (await upstreamOf(git, entry.base))?.tracking;
  const dropped = await droppedCommits(git, {
    head: entry.head,
    base: base.commit,
    ref: base.upstream === undefined ? local : base.upstream.tracking,
    once: session.base_commit === '' ? undefined : session.base_commit,
    // Commits that are not pushed, or not pulled, were never taken away.
    beside: await readRef(git, base.upstream === undefined ? (followed ?? local) : local),
    // A merge brings the commits themselves back, the others what they change.
    byContent: entry.method !== 'merge',
  });
  if (dropped.length === 0) return undefined;
  const told = await toldOf(context, git, entry);
  if (dropped.every((commit) => told.has(commit))) return undefined;
  return sentence(git, entry, session, base, dropped);
}

/** The commits that the person was told would come back with this session. */
async function toldOf(context: QueueContext, git: Git, { session }: EntryRecord): Promise<Set<string>> {
  const told = new Set<string>();
  for (const { head, base } of context.entries.toldOfDropped(session)) {
    // What git has tidied away is told of anew.
    const output = await git.attempt(['rev-list', head, `^${base}`]);
    if (output.exitCode !== 0) continue;
    for (const commit of textOf(output).split('\n')) told.add(commit);
  }
  return told;
}

async function sentence(
  git: Git,
  entry: EntryRecord & { head: string },
  session: SessionRecord,
  base: TargetBase,
  dropped: readonly string[],
): Promise<string> {
  const onto = base.upstream?.tracking.replace(/^refs\/remotes\//, '') ?? entry.base;
  const named = await git.lines(['log', '--no-walk=unsorted', '--format=%h %s', ...dropped.slice(0, NAMED)]);
  const list = named.map((line) => (line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line));
  if (dropped.length > named.length) list.push(`${dropped.length - named.length} more`);
  const [newest = ''] = dropped;
  const below = await git.lines(['rev-list', newest, `^${base.commit}`]);
  const them = dropped.length === 1 ? 'it' : 'them';
  const how =
    below.length === dropped.length
      ? `: git -C ${quoteWord(session.worktree)} rebase --onto ${onto} ${newest.slice(0, 10)}`
      : '';
  return (
    `${onto} no longer has ${dropped.length === 1 ? 'a commit' : `${dropped.length} commits`} that ` +
    `${entry.branch} has from it, and landing would bring ${them} back: ${list.join('; ')}. ` +
    `Rebase the branch without ${them}${how}. Or land again, if ${them === 'it' ? 'it is' : 'they are'} meant to come back.`
  );
}
