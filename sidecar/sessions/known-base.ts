import { branchExists } from '../git/refs.ts';
import { isRepositoryThere } from '../git/repository.ts';
import { FairleadError } from '../protocol/errors.ts';
import { gitOf, type SessionContext } from './context.ts';

/** @throws FairleadError `base.missing` when no session starts from the branch and no repository of one has it */
export async function requireBaseSomewhere(
  context: SessionContext,
  base: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const { table } = context;
  if (table.list({ archived: true }).some((session) => session.base === base)) return;
  const repositories = table.repositories().filter(({ common_dir }) => isRepositoryThere(common_dir));
  for (const { common_dir } of repositories) {
    if (await branchExists(gitOf(context, environment, common_dir), base)) return;
  }
  throw new FairleadError('base.missing', `There is no branch "${base}" that sessions land on.`, {
    hint: 'Run `fairlead queue` to see what lands where.',
  });
}
