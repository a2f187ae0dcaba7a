import { messageOf } from '../protocol/errors.ts';
import { AttributeFolders } from './attributes.ts';
import { type Git, type GitOutput, gitFailure, tail } from './git.ts';
import { decodePath, joinNul, splitNul } from './names.ts';
import { mergeBase } from './refs.ts';
import { isShallow, type Repository } from './repository.ts';
import type { ScratchObjects } from './scratch-objects.ts';

export interface MergeMessage {
  /** git's short name, as `CONFLICT (contents)`, `CONFLICT (rename/delete)`, `Auto-merging`. */
  kind: string;
  paths: string[];
  text: string;
}

/** How a merge ended. Anything that is not known for sure to be a conflict is `infrastructure`. */
export type MergeOutcome =
  | { kind: 'clean'; tree: string }
  /** `tree` is whole, with markers in the files that conflict. */
  | { kind: 'conflict'; tree: string; paths: string[]; messages: MergeMessage[] }
  | { kind: 'unrelated' }
  /** Both sides changed files that a merge driver of the person takes care of, which needs a real checkout. */
  | { kind: 'needs-worktree'; drivers: string[]; paths: string[] }
  | { kind: 'infrastructure'; text: string /** What was thrown, when something was. */; cause?: unknown };

export interface MergeRequest {
  /** Full commit ids: names may move between two looks. */
  ours: string;
  theirs: string;
  /** The commit whose `.gitattributes` count; default `ours`. */
  attributesOf?: string;
  /** Where the objects go; default the repository. */
  scratch?: ScratchObjects;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Merges without a checkout. Keep one a repository: it remembers the attributes of the last bases. */
export class Merger {
  readonly repository: Repository;
  readonly #attributes: AttributeFolders;

  constructor(repository: Repository) {
    this.repository = repository;
    this.#attributes = new AttributeFolders(repository);
  }

  /** Never throws: what goes wrong is `infrastructure`. */
  async merge(request: MergeRequest): Promise<MergeOutcome> {
    try {
      return await this.#merge(request);
    } catch (error) {
      return { kind: 'infrastructure', text: messageOf(error), cause: error };
    }
  }

  async #merge(request: MergeRequest): Promise<MergeOutcome> {
    const { ours, theirs, attributesOf = ours } = request;
    const git = await this.#attributes.gitFor(attributesOf);
    const [output, concerned] = await Promise.all([
      git.attempt(['merge-tree', '--write-tree', '-z', ours, theirs], {
        config: { 'merge.conflictStyle': 'zdiff3' },
        ...(request.scratch === undefined ? {} : { env: request.scratch.env }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
        ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
      }),
      driversConcerned(git, ours, theirs),
    ]);
    if (concerned !== undefined) return { kind: 'needs-worktree', ...concerned };
    const outcome = parseMerge(output);
    // Without the commits below the cut, related histories look unrelated.
    if (outcome.kind === 'unrelated' && (await isShallow(this.repository.git))) {
      return {
        kind: 'infrastructure',
        text: 'The clone is shallow and lacks the common history: git fetch --unshallow',
      };
    }
    if (outcome.kind !== 'infrastructure') return outcome;
    const cause = gitFailure(git.folder, ['merge-tree'], output);
    return cause.code === 'disk.full' ? { ...outcome, cause } : outcome;
  }
}

/**
 * Pure: what `merge-tree --write-tree -z` said. An unknown revision ends with 1 as a conflict does, but without a
 * tree. Source: git-merge-tree(1), "OUTPUT".
 */
export function parseMerge(output: GitOutput): MergeOutcome {
  const fields = splitNul(output.stdout).map(decodePath);
  const tree = fields[0] ?? '';
  const hasTree = /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(tree);
  if (output.exitCode === 0 && hasTree) return { kind: 'clean', tree };
  if (output.exitCode === 1 && hasTree) return { kind: 'conflict', tree, ...parseConflict(fields.slice(1)) };
  if (output.stderr.includes('refusing to merge unrelated histories')) return { kind: 'unrelated' };
  return {
    kind: 'infrastructure',
    text: tail(output.stderr, 5) || `git merge-tree ended with ${output.exitCode}.`,
  };
}

/** Entries `mode id stage TAB path`, an empty field, then messages: count, paths, kind, text. */
function parseConflict(fields: readonly string[]): { paths: string[]; messages: MergeMessage[] } {
  const paths = new Set<string>();
  let at = 0;
  for (; at < fields.length && fields[at] !== ''; at += 1) {
    const field = fields[at] ?? '';
    paths.add(field.slice(field.indexOf('\t') + 1));
  }
  const messages: MergeMessage[] = [];
  at += 1;
  while (at < fields.length) {
    const count = Number(fields[at]);
    if (!Number.isInteger(count)) break;
    const [kind = '', text = ''] = fields.slice(at + 1 + count, at + 3 + count);
    messages.push({ kind, paths: fields.slice(at + 1, at + 1 + count), text: text.trimEnd() });
    at += 3 + count;
  }
  return { paths: [...paths].sort(), messages };
}

/** Merge drivers of the person that would have a say in this merge; undefined when there are none. */
async function driversConcerned(
  git: Git,
  ours: string,
  theirs: string,
): Promise<{ drivers: string[]; paths: string[] } | undefined> {
  const configured = await git.attempt(['config', '-z', '--get-regexp', '^merge\\.(.*\\.driver|default)$']);
  if (configured.exitCode !== 0) return undefined;
  const settings = splitNul(configured.stdout).map((field) => field.toString('utf8').split('\n'));
  const drivers = new Set(settings.flatMap(([name = '']) => /^merge\.(.*)\.driver$/.exec(name)?.[1] ?? []));
  const fallback = settings.findLast(([name]) => name === 'merge.default')?.[1];
  if (drivers.size === 0) return undefined;
  const base = await mergeBase(git, ours, theirs);
  if (base === undefined) return undefined;

  const changed = (tip: string) =>
    git.fields(['diff-tree', '-r', '-z', '--no-renames', '--name-only', base, tip]);
  const [mine, other] = await Promise.all([changed(ours), changed(theirs)]);
  const driverOf = await attributesOf(git, [...new Set([...mine, ...other])], 'merge');
  const handled = (path: string) => {
    const value = driverOf.get(path);
    const driver = value === 'unspecified' ? fallback : value;
    return driver !== undefined && drivers.has(driver) ? driver : undefined;
  };
  // Not only files that both changed under one name: a side may have renamed one.
  const mineHandled = mine.filter(handled);
  const otherHandled = other.filter(handled);
  if (mineHandled.length === 0 || otherHandled.length === 0) return undefined;
  const paths = [...new Set([...mineHandled, ...otherHandled])].sort();
  return { drivers: [...new Set(paths.flatMap((path) => handled(path) ?? []))].sort(), paths };
}

/** The value of one attribute for each path, as the working tree of `git` defines it. */
async function attributesOf(git: Git, paths: readonly string[], name: string): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  if (paths.length === 0) return values;
  const fields = await git.fields(['check-attr', '-z', '--stdin', name], { input: joinNul(paths) });
  for (let at = 0; at + 2 < fields.length; at += 3) values.set(fields[at] ?? '', fields[at + 2] ?? '');
  return values;
}
