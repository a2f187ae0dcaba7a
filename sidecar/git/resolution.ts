import { type FileChange, parseChanges } from './diff.ts';
import type { Git } from './git.ts';
import { isAncestor } from './refs.ts';

export interface ResolvedMerge {
  /** Where the branch was before the merge. */
  tip: string;
  /** The commit that was merged. */
  base: string;
  /** The tree that the merge made of both, whatever stands in the files in conflict. */
  merged: string;
  /** In conflict. */
  paths: readonly string[];
  /** What came of it. */
  result: string;
}

/** What git says of a merge that somebody has resolved. All commits by their full ids. */
export interface Resolution {
  /** Whether both sides are in its history. */
  hasBase: boolean;
  hasTip: boolean;
  /** Paths in conflict that hold conflict markers which neither side had. */
  markers: string[];
  /** Paths that had merged without a conflict to what the base has changed, and are again as the branch had them. */
  lost: string[];
  /** Of the paths in conflict, those that the base has changed. */
  contested: string[];
  /** Of the contested, those that are as the branch had them. */
  own: string[];
}

/** More than a file that anybody resolves a conflict in, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Longer ones may be set by an attribute. What follows names a side. Source: git-merge(1), "HOW CONFLICTS ARE PRESENTED". */
const MARKER = /^(<{7,}|>{7,})( .*)?$/;

/**
 * Compares what came of a merge with both sides, by ids of files: what the agent says of it does not count.
 * @throws FairleadError `git.failed`
 */
export async function readResolution(git: Git, request: ResolvedMerge): Promise<Resolution> {
  const { tip, base, merged, paths, result } = request;
  const [hasBase, hasTip] = await Promise.all([isAncestor(git, base, result), isAncestor(git, tip, result)]);
  if (!hasBase || !hasTip) return { hasBase, hasTip, markers: [], lost: [], contested: [], own: [] };
  const [byMerge, byBase, byResult] = await Promise.all([
    differences(git, tip, merged),
    differences(git, tip, base),
    differences(git, tip, result),
  ]);
  const inConflict = new Set(paths);
  const lost = [...byMerge.keys()].filter((path) => !inConflict.has(path) && !byResult.has(path));
  const contested = paths.filter((path) => byBase.has(path));
  const own = contested.filter((path) => !byResult.has(path));
  const markers: string[] = [];
  for (const path of paths) {
    const now = byResult.get(path);
    if (now?.newId === undefined || !now.newMode.startsWith('100')) continue;
    const known = new Set<string>();
    for (const id of [now.oldId, byBase.get(path)?.newId]) {
      for (const line of await markerLines(git, id)) known.add(line);
    }
    if ((await markerLines(git, now.newId)).some((line) => !known.has(line))) markers.push(path);
  }
  return { hasBase, hasTip, markers, lost, contested, own };
}

async function markerLines(git: Git, id: string | undefined): Promise<string[]> {
  if (id === undefined) return [];
  const output = await git.attempt(['cat-file', 'blob', id], { maxBytes: MAX_BYTES });
  if (output.exitCode !== 0) return [];
  return output.stdout
    .toString('latin1')
    .split(/\r?\n/)
    .filter((line) => MARKER.test(line));
}

/** By path. Modes count; a renamed file is one that went and one that came. */
async function differences(git: Git, from: string, to: string): Promise<Map<string, FileChange>> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', from, to];
  const changes = parseChanges((await git.run(args)).stdout);
  return new Map(changes.map((change) => [change.path, change]));
}
