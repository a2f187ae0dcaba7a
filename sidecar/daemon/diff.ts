import { mergeBase } from '../git/refs.ts';
import { gitOf, type SessionContext } from '../sessions/context.ts';
export async function diffSession(context: SessionContext, name: string, stat: boolean, signal: AbortSignal): Promise<string> {
  const record = context.table.resolve(name);
  const git = gitOf(context, context.table.environment(record.environment), record.worktree);
  const base = await mergeBase(git, `refs/heads/${record.base}`, 'HEAD');
  return git.text(['diff', ...(stat ? ['--stat'] : []), base ?? 'HEAD'], { signal });
}
