import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CLAUDE_CODE } from '../agents/claude/definition.ts';
import { bringChanges, copyFiles } from '../environments/copies.ts';
import { findBase } from '../git/base.ts';
import { readIdentity } from '../git/identity.ts';
import { branchExists, listRefs, requireBranchName } from '../git/refs.ts';
import { openRepository, type Repository, requireCommit } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { requireGit, SESSIONS_NEED_GIT } from '../git/version.ts';
import { addWorktree, discardWorktree, registrationOf } from '../git/worktrees.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { PermissionMode } from '../protocol/session.ts';
import { notesOn, notesWithin } from './base-notes.ts';
import { gitOf, type SessionContext } from './context.ts';
import { agentProgram } from './launching.ts';
import { freeName, slugOf, titleFrom, titleOf } from './naming.ts';
import type { SessionRecord } from './record.ts';
import { keepOutOfStatus, worktreeFolder } from './worktree-place.ts';
import { writeError } from './write-error.ts';

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
  bringChanges: boolean;
}

export interface Creation {
  record: SessionRecord;
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
): Promise<Creation> {
  const { table, ids, clock } = context;
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
  if (request.start) agentProgram(config.agent.command, environment);
  const prefix = config.branch.prefix ?? 'fairlead/';
  const title = titleFrom(request.title) ?? titleOf(request.prompt);
  await requirePrefix(repository, prefix, slugOf(title));
  const base = await findBase(repository, request.base ?? within?.base, { timeoutMs: 30_000 });
  const id = ids.short(6);
  const known = table.repositoryOf(repository.commonDir, main, ids.short(8), clock.now());
  const planned = new Set(
    table
      .list({ archived: false })
      .filter(({ repository: other }) => other === known.id)
      .map(({ branch }) => branch),
  );
  const slug = await freeName(
    slugOf(title),
    async (name) => planned.has(prefix + name) || (await isBranchTaken(repository, prefix + name)),
    ids,
  );
  const uncommitted =
    repository.mainCheckout === undefined
      ? 0
      : changedPaths(await readStatus(repository.git.in(repository.mainCheckout))).length;
  const now = clock.now();
  const record = table.transaction(() => {
    const made: SessionRecord = {
      id,
      key: request.key ?? null,
      title,
      repository: known.id,
      branch: prefix + slug,
      base: base.branch,
      base_commit: base.commit,
      remote: base.upstream?.remote ?? null,
      worktree: worktreeFolder(context, known, repository, config.worktree.place ?? 'home', slug, id),
      git_dir: null,
      folder: repository.prefix,
      agent: request.agent ?? CLAUDE_CODE.id,
      model: request.model ?? config.agent.model ?? null,
      mode: request.mode ?? config.agent.mode ?? null,
      environment: table.keepEnvironment(environment),
      bring_changes: request.bringChanges,
      terminal: null,
      shell: null,
      agent_fact: 'idle',
      landing: 'none',
      life: 'starting',
      reason: null,
      demand: null,
      outcome: null,
      since: now,
      unread: false,
      parent: null,
      fork_turn: null,
      created_at: now,
      changed_at: now,
      archived_at: null,
    };
    table.insert(made);
    if (request.prompt !== undefined) {
      table.addPrompt({
        id: ids.uuid(),
        session: id,
        text: request.prompt,
        state: 'waiting',
        via: 'launch',
        tries: 0,
        created_at: now,
        sent_at: null,
        confirmed_at: null,
      });
    }
    return made;
  });
  return {
    record,
    repository,
    leftBehind: request.bringChanges ? 0 : uncommitted,
    notes: [...notesOn(base, now), ...(request.base === undefined ? notesWithin(within) : [])],
  };
}

/**
 * Makes the worktree that was planned. After a crash it is called `again`: what was half made is cleared first. A
 * worktree in which an agent may already have worked is never made anew.
 * @throws FairleadError `worktree.failed`, `disk.full`, `branch.taken`: nothing half-made is left
 */
export async function makeWorktree(
  context: SessionContext,
  record: SessionRecord,
  repository: Repository,
  again: boolean,
): Promise<SessionRecord> {
  if (record.git_dir !== null) return record;
  if (again) await clearHalfMade(repository, record);
  const config = context.configFor(context.table.repository(record.repository).main);
  try {
    keepOutOfStatus(repository, record.worktree);
  } catch (error) {
    throw await writeError(error, record, repository);
  }
  const worktree = await addWorktree(repository, {
    folder: record.worktree,
    branch: record.branch,
    from: record.base_commit,
    lockReason: `Fairlead session ${record.id}`,
  }).catch(async (error: unknown) => {
    throw await writeError(error, record, repository);
  });
  context.step?.('worktree-made');
  try {
    if (repository.mainCheckout !== undefined) {
      await copyFiles(repository, worktree.folder, config.worktree.copy);
    }
    if (record.bring_changes) await bringChanges(repository, worktree.folder);
  } catch (error) {
    await discardWorktree(repository, { ...worktree });
    throw await writeError(error, record, repository);
  }
  const folder = existsSync(join(worktree.folder, record.folder)) ? record.folder : '';
  // The last effect: before it the worktree counts as half-made and is made again.
  const patch = { git_dir: worktree.gitDir, worktree: worktree.folder, folder };
  context.table.update(record.id, patch);
  return { ...record, ...patch };
}

/** A crash may have left a branch at the base, a folder, a registration. None of it holds work yet. */
async function clearHalfMade(repository: Repository, record: SessionRecord): Promise<void> {
  const ours = registrationOf(repository.commonDir, record.worktree) !== undefined;
  if (!ours && !(await branchExists(repository.git, record.branch))) return;
  await discardWorktree(repository, {
    folder: record.worktree,
    branch: record.branch,
    commit: record.base_commit,
  });
}

function refuseTakenKey(context: SessionContext, key: string | undefined): void {
  const other = key === undefined ? undefined : context.table.withKey(key);
  if (other === undefined) return;
  throw new FairleadError('session.key-taken', `The key "${key}" belongs to session ${other.id}.`, {
    hint: `Use that session (fairlead show ${other.id}), archive it, or choose another key.`,
    data: { session: other.id },
  });
}

/** @throws FairleadError `agent.unsupported` */
function refuseUnknownAgent(agent: string | undefined): void {
  if (agent === undefined || agent === CLAUDE_CODE.id) return;
  throw new FairleadError('agent.unsupported', `There is no agent called "${agent}".`, {
    hint: `Leave it out, or name one of: ${CLAUDE_CODE.id}.`,
  });
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
