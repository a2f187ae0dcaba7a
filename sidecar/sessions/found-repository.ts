import { openRepository, readHead } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { FindRepository } from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import { gitOf, type SessionContext } from './context.ts';

/** Branches that are listed to choose a base from. */
const MAX_BRANCHES = 200;

type Found = z.input<typeof FindRepository.result>;

/**
 * What can be known of a folder before a session is started in it. Runs nothing that the repository has set, unless
 * `uncommitted` is wanted: git asks the filters of the repository whether a file has changed.
 */
export async function findRepository(
  context: SessionContext,
  { folder, uncommitted }: { folder: string; uncommitted: boolean },
  environment: Readonly<Record<string, string>>,
): Promise<Found> {
  try {
    const repository = await openRepository(folder, gitOf(context, environment, folder).offline());
    const known = context.table.repositoryWith(repository.commonDir);
    const main = repository.mainCheckout ?? known?.main ?? repository.topLevel;
    const here = repository.git.in(repository.topLevel);
    const [head, branches, changed] = await Promise.all([
      readHead(here),
      repository.git.lines([
        'for-each-ref',
        '--sort=-committerdate',
        '--format=%(refname:strip=2)',
        'refs/heads/',
      ]),
      uncommitted ? readStatus(repository.git.in(main)).then(changedPaths) : [],
    ]);
    const own = new Set(context.table.list({ archived: true }).map(({ branch }) => branch));
    return {
      main,
      branch: head.branch ?? null,
      branches: branches.filter((branch) => !own.has(branch)).slice(0, MAX_BRANCHES),
      uncommitted: changed,
      message: null,
      hasCommit: head.commit !== undefined,
    };
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error;
    const { code, message, hint } = error;
    const refused = code === 'repo.missing' ? null : (hint ?? null);
    return { main: null, branch: null, branches: [], uncommitted: [], message, hint: refused };
  }
}
