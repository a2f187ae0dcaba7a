import { changedFiles, changedFilesOnDisk, type FileChange, patchBetween, patchOnDisk } from '../git/diff.ts';
import type { Git } from '../git/git.ts';
import { mergeBase, readRef } from '../git/refs.ts';
import { FairleadError } from '../protocol/errors.ts';
import { gitOf, type SessionContext } from './context.ts';
import type { SessionRecord } from './record.ts';

/**
 * What a session changed since it left its base: with what is uncommitted while it has a worktree, else what its
 * branch holds. A patch as `git apply` takes it, or with `stat` one line a file.
 * @throws FairleadError `base.missing` when base or branch are gone or have nothing in common
 */
export async function diffOfSession(
  context: SessionContext,
  record: SessionRecord,
  options: { stat: boolean; signal: AbortSignal },
): Promise<string> {
  const { table } = context;
  const environment = table.environment(record.environment);
  const onDisk = record.life !== 'archived' && record.git_dir !== null;
  const folder = onDisk ? record.worktree : table.repository(record.repository).main;
  const git = gitOf(context, environment, folder);
  const head = onDisk ? 'HEAD' : await readRef(git, `refs/heads/${record.branch}`);
  const from = head === undefined ? undefined : await startOf(git, record, head);
  if (head === undefined || from === undefined) {
    throw new FairleadError('base.missing', `${record.branch} cannot be compared with ${record.base}.`, {
      hint: 'One of the two branches is gone, or they have no common history.',
    });
  }
  const { stat, signal } = options;
  if (stat) {
    const files = onDisk
      ? await changedFilesOnDisk(git, from, { signal })
      : await changedFiles(git, from, head, { signal });
    return statOf(files);
  }
  const patch = onDisk
    ? await patchOnDisk(git, from, { signal })
    : await patchBetween(git, from, head, { signal });
  return patch.toString('utf8');
}

/** Where the branch left its base: by now, or when the base is gone, when the session was made. */
async function startOf(git: Git, record: SessionRecord, head: string): Promise<string | undefined> {
  const base = await readRef(git, `refs/heads/${record.base}`);
  return mergeBase(git, base ?? record.base_commit, head);
}

function statOf(files: readonly FileChange[]): string {
  const sum = (count: (file: FileChange) => number | undefined) =>
    files.reduce((total, file) => total + (count(file) ?? 0), 0);
  const rows = files.map(({ path, added, deleted, status }) => {
    const counts = added === undefined ? 'binary' : `+${added} -${deleted}`;
    return `${counts.padStart(14)}  ${path}${status === 'modified' ? '' : ` (${status})`}`;
  });
  const total = `${files.length} ${files.length === 1 ? 'file' : 'files'}, +${sum(({ added }) => added)} -${sum(({ deleted }) => deleted)}`;
  return [...rows, total].join('\n');
}
