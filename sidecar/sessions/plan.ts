import { realpathSync } from 'node:fs';
import { CLAUDE_CODE } from '../agents/claude/definition.ts';
import { requireClaude } from '../agents/claude/version.ts';
import { type Base, findBase } from '../git/base.ts';
import { readIdentity } from '../git/identity.ts';
import { branchExists, listRefs, requireBranchName } from '../git/refs.ts';
import { openRepository, type Repository, requireCommit } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { requireGit, SESSIONS_NEED_GIT } from '../git/version.ts';
import type { Config } from '../platform/config.ts';
import { systemProcesses } from '../platform/processes.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { PermissionMode } from '../protocol/session.ts';
import { notesOn, notesWithin } from './base-notes.ts';
import { gitOf, type SessionContext } from './context.ts';
import { isExit } from './delivery.ts';
import { agentProgram } from './launching.ts';
import { freeName, slugOf, titleFrom, titleOf } from './naming.ts';
import type { Report } from './progress.ts';
import type { RepositoryRecord, SessionRecord } from './record.ts';
import type { Serial } from './serial.ts';
import { worktreeFolder } from './worktree-place.ts';

/** How long the remote of a base may take to answer, in milliseconds. */
const FETCH_WITHIN_MS = 30_000;

/** Goes before the slug of a branch, unless the configuration has another. */
const DEFAULT_PREFIX = 'fairlead/';

/** What a client asks for; see the `session/new` request. */
export interface NewSessionRequest {
  folder: string;
  prompt?: string | undefined;
  title?: string | undefined;
  base?: string | undefined;
  agent?: string | undefined;
  model?: string | undefined;
  mode?: PermissionMode | undefined;
  key?: string | undefined;
  start: boolean;
  attempts: number;
  bringChanges: boolean;
  /** See `session/new`. */
  requestId?: string | undefined;
}

export interface SessionPlan {
  /** One for each attempt, all from the same commit. */
  records: SessionRecord[];
  repository: Repository;
  /** Uncommitted changes of the main checkout that the session will not see. */
  leftBehind: number;
  /** What the person should know: an offline remote, a base that is ahead, a session that it was asked for in. */
  notes: string[];
}

/**
 * Decides everything about a session and writes it down: from here on it can be carried out again after a crash.
 * Makes nothing outside the store. Asked for inside the worktree of a session without a base, the session starts from
 * where that one did and lands there too: a branch that an agent works on is no base that anybody chose.
 * @throws FairleadError whatever is wrong with git, folder, repository, base, identity, agent, key or names
 */
export async function planSession(
  context: SessionContext,
  request: NewSessionRequest,
  environment: Readonly<Record<string, string>>,
  serial: Serial,
  signal: AbortSignal,
  report: Report,
): Promise<SessionPlan> {
  const { table, ids, clock } = context;
  refuseKeyOfMany(request);
  refuseTakenKey(context, request.key);
  refuseUnknownAgent(request.agent);
  const git = gitOf(context, environment, request.folder);
  await requireGit(git, SESSIONS_NEED_GIT, 'sessions');
  const repository = await openRepository(request.folder, git);
  await requireCommit(repository.git.in(repository.topLevel));
  await readIdentity(repository.git);
  const within = sessionIn(context, repository.topLevel);
  const main =
    repository.mainCheckout ??
    (within === undefined ? repository.topLevel : table.repository(within.repository).main);
  const config = context.configFor(main);
  if (request.start) {
    await requireClaude(agentProgram(config.agent.command, environment), environment, systemProcesses);
  }
  const prefix = config.branch.prefix ?? DEFAULT_PREFIX;
  const title = titleFrom(request.title) ?? titleOf(request.prompt);
  await requirePrefix(repository, prefix, slugOf(title));
  const base = await findBase(repository, request.base ?? within?.base, {
    timeoutMs: FETCH_WITHIN_MS,
    signal,
    fetching: (branch, remote) => report(`Fetching ${branch} from ${remote}`, 0),
  });
  const uncommitted = await uncommittedIn(repository);
  const known = table.repositoryOf(repository.commonDir, main, ids.short(8), clock.now());
  signal.throwIfAborted();
  // Names are given one after the other; the network was asked before, and holds up no other session.
  const records = await serial.run(`names in ${known.id}`, async () => {
    const slugs = await freeSlugs(context, repository, known, prefix, slugOf(title), request.attempts);
    return insertSessions(context, request, {
      title,
      slugs,
      repository,
      known,
      config,
      base,
      environment: table.keepEnvironment(environment),
    });
  });
  return {
    records,
    repository,
    leftBehind: request.bringChanges ? 0 : uncommitted,
    notes: [
      ...notesOn(base, clock.now()),
      ...(request.base === undefined ? notesWithin(within) : []),
      ...notesOnPrompt(request.prompt),
    ],
  };
}

interface Decided {
  title: string;
  slugs: string[];
  repository: Repository;
  known: RepositoryRecord;
  config: Config;
  base: Base;
  /** Id of the kept variables. */
  environment: string;
}

/** Stores the sessions and their first prompts together. */
function insertSessions(
  context: SessionContext,
  request: NewSessionRequest,
  decided: Decided,
): SessionRecord[] {
  const { table, ids, clock } = context;
  const now = clock.now();
  const records: SessionRecord[] = [];
  for (const slug of decided.slugs) {
    const id = ids.short(6);
    records.push(recordOf(context, request, decided, { id, slug, family: records[0]?.id ?? id, now }));
  }
  table.transaction(() => {
    // Another may have taken it while the remote was asked.
    refuseTakenKey(context, request.key);
    for (const record of records) {
      table.insert(record);
      if (request.prompt === undefined) continue;
      table.addPrompt({
        id: ids.uuid(),
        session: record.id,
        text: request.prompt,
        state: 'waiting',
        via: 'launch',
        tries: 0,
        created_at: now,
        sent_at: null,
        confirmed_at: null,
        request: null,
      });
    }
  });
  return records;
}

function recordOf(
  context: SessionContext,
  request: NewSessionRequest,
  { title, repository, known, config, base, environment }: Decided,
  { id, slug, family, now }: { id: string; slug: string; family: string; now: number },
): SessionRecord {
  return {
    id,
    key: request.key ?? null,
    title,
    repository: known.id,
    branch: (config.branch.prefix ?? DEFAULT_PREFIX) + slug,
    base: base.branch,
    base_commit: base.commit,
    remote: base.upstream?.remote ?? null,
    worktree: worktreeFolder(context, known, repository, config.worktree.place ?? 'home', slug, id),
    git_dir: null,
    folder: repository.prefix,
    agent: request.agent ?? CLAUDE_CODE.id,
    model: request.model ?? config.agent.model ?? null,
    mode: request.mode ?? config.agent.mode ?? null,
    environment,
    bring_changes: request.bringChanges,
    request: request.requestId ?? null,
    starts: request.start,
    terminal: null,
    shell: null,
    agent_fact: 'idle',
    landing: 'none',
    life: 'starting',
    reason: null,
    demand: null,
    need: 0,
    outcome: null,
    since: now,
    unread: false,
    family,
    parent: null,
    fork_turn: null,
    created_at: now,
    changed_at: now,
    archived_at: null,
  };
}

async function freeSlugs(
  context: SessionContext,
  repository: Repository,
  known: RepositoryRecord,
  prefix: string,
  slug: string,
  count: number,
): Promise<string[]> {
  const planned = new Set(
    context.table
      .list({ archived: false })
      .filter((other) => other.repository === known.id)
      .map(({ branch }) => branch),
  );
  const isTaken = async (name: string) =>
    planned.has(prefix + name) || (await isBranchTaken(repository, prefix + name));
  const slugs: string[] = [];
  while (slugs.length < count) {
    const free = await freeName(slug, isTaken, context.ids);
    planned.add(prefix + free);
    slugs.push(free);
  }
  return slugs;
}

/** Changes of the main checkout that no commit has. */
export async function uncommittedIn(repository: Repository): Promise<number> {
  if (repository.mainCheckout === undefined) return 0;
  return changedPaths(await readStatus(repository.git.in(repository.mainCheckout))).length;
}

function refuseTakenKey(context: SessionContext, key: string | undefined): void {
  const other = key === undefined ? undefined : context.table.withKey(key);
  if (other === undefined) return;
  throw new FairleadError('session.key-taken', `The key "${key}" belongs to session ${other.id}.`, {
    hint: `Use that session (fairlead show ${other.id}), archive it, or choose another key.`,
    data: { session: other.id },
  });
}

/** @throws FairleadError `params.invalid` */
function refuseKeyOfMany({ key, attempts }: NewSessionRequest): void {
  if (key === undefined || attempts === 1) return;
  throw new FairleadError('params.invalid', `One key cannot name ${attempts} attempts.`, {
    hint: 'Leave the key out; every attempt has an id and a branch of its own.',
  });
}

/** @throws FairleadError `agent.unsupported` */
function refuseUnknownAgent(agent: string | undefined): void {
  if (agent === undefined || agent === CLAUDE_CODE.id) return;
  throw new FairleadError('agent.unsupported', `There is no agent called "${agent}".`, {
    hint: `Leave it out, or name one of: ${CLAUDE_CODE.id}.`,
  });
}

/** A first prompt that ends the agent before a turn begins. */
function notesOnPrompt(prompt: string | undefined): string[] {
  if (prompt === undefined || !isExit(prompt)) return [];
  return [`To Claude Code "${prompt.trim()}" is no prompt but the command that ends it: no turn begins.`];
}

/** The live session whose worktree is `folder`. */
function sessionIn(context: SessionContext, folder: string): SessionRecord | undefined {
  return context.table.list({ archived: false }).find(({ worktree }) => samePlace(worktree, folder));
}

function samePlace(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/**
 * A name that is taken gets a suffix; what forbids every name below the prefix is for the person to put right.
 * @throws FairleadError `branch.namespace-taken`, `params.invalid` (git takes no such prefix)
 */
async function requirePrefix(repository: Repository, prefix: string, slug: string): Promise<void> {
  try {
    await requireBranchName(repository.git, prefix + slug);
  } catch (error) {
    const below = error instanceof FairleadError && (await isBranchTaken(repository, prefix + slug));
    if (!below) throw error;
  }
}

/** Also when branches below it exist: git then takes no branch of this name. */
async function isBranchTaken(repository: Repository, branch: string): Promise<boolean> {
  if (await branchExists(repository.git, branch)) return true;
  return (await listRefs(repository.git, `refs/heads/${branch}/`)).length > 0;
}
