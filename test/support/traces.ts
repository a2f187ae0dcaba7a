import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { TestRepository } from './repository.ts';
import type { SidecarHarness } from './sidecar.ts';

/** Everything that making a session leaves in a repository, on disk and in the fleet. */
export interface Traces {
  refs: string;
  /** Private git folders of linked worktrees, by name. */
  registered: string[];
  /** Folders below the home's worktrees, two levels deep. */
  folders: string[];
  sessions: string[];
  status: string;
  locks: string[];
}

/** What there is; compared before and after, it shows whether a refusal left something half-made. */
export async function tracesOf(repository: TestRepository, fairlead: SidecarHarness): Promise<Traces> {
  const bare = repository.git('rev-parse', '--is-bare-repository') === 'true';
  const common = repository.git('rev-parse', '--path-format=absolute', '--git-common-dir');
  const sessions = await fairlead.json<Session[]>(['ls', '--all']);
  return {
    refs: repository.git('for-each-ref'),
    registered: entries(join(common, 'worktrees')),
    folders: entries(join(fairlead.home, 'worktrees')).flatMap((name) =>
      entries(join(fairlead.home, 'worktrees', name)).map((each) => `${name}/${each}`),
    ),
    sessions: sessions.map(({ id }) => id),
    status: bare ? '' : repository.status(),
    locks: repository.leftovers(),
  };
}

function entries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
