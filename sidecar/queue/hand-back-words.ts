import { displayPath } from '../git/names.ts';
import type { EntryRecord } from './entry-table.ts';
import { MAX_TRIES, type Missing, type Verdict } from './hand-back-verdict.ts';

type Named = Pick<EntryRecord, 'base' | 'remote'>;

/** The base as people know it: `main`, `origin/main`. Pure. */
export function ontoOf({ base, remote }: Named): string {
  return remote === null ? base : `${remote}/${base}`;
}

/** `a, b and 3 more`. Pure. */
export function namedPaths(paths: readonly string[], most = 3): string {
  const shown = paths.slice(0, paths.length === most + 1 ? most + 1 : most).map(displayPath);
  const more = paths.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** `It conflicts with main in a`, without a full stop. Pure. */
export function conflictWords(entry: Named, paths: readonly string[]): string {
  return `It conflicts with ${ontoOf(entry)} in ${namedPaths(paths)}`;
}

/** That the agent is at it, for the how-manieth time. Pure. */
export function resolvingWords(attempt: number): string {
  return `its agent resolves that (try ${attempt} of ${MAX_TRIES})`;
}

/** What is not done, as a sentence that both the agent and the person understand. Pure. */
export function missingWords(missing: Missing, entry: Named): string {
  switch (missing.kind) {
    case 'misplaced':
      return missing.sentence;
    case 'not-committed':
      return missing.paths.length === 0
        ? 'The merge is not committed.'
        : `The merge is not committed: ${namedPaths(missing.paths, 8)}.`;
    case 'given-up':
      return `The merge was given up: the branch does not have what is on ${ontoOf(entry)}.`;
    case 'markers':
      return `Conflict markers were committed: ${namedPaths(missing.paths, 8)}.`;
    case 'left-over':
      return `Changes are left that are not committed: ${namedPaths(missing.paths, 8)}.`;
  }
}

/** What the person is asked about what an agent made of its conflict. Pure. */
export function personWords(verdict: Verdict, entry: Named, session: string): string {
  const again = `let its agent go on: fairlead send ${session} "Go on", or land again`;
  if (verdict.kind === 'unfinished') {
    return `its agent was interrupted. ${missingWords(verdict.missing, entry)} To ${again}`;
  }
  if (verdict.kind !== 'dropped') return `its agent was interrupted; ${again}`;
  const { how, paths } = verdict;
  const onto = ontoOf(entry);
  const what =
    how === 'own-side'
      ? `its agent has kept its own side only, and dropped what ${onto} changed`
      : `its agent has dropped what ${onto} changed beside the conflict in ${namedPaths(paths)}`;
  return `${what}. Land again to take it so, or tell its agent what is missing: fairlead send ${session} TEXT`;
}
