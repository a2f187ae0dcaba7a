import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { bringChanges, copyFiles } from '../environments/copies.ts';
import { type Base, findBase } from '../git/base.ts';
import { readIdentity } from '../git/identity.ts';
import { branchExists } from '../git/refs.ts';
import { openRepository, type Repository } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { addWorktree, discardWorktree, registrationOf } from '../git/worktrees.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { PermissionMode } from '../protocol/session.ts';
import { gitOf, type SessionContext } from './context.ts';
import { freeName, slugOf, titleOf } from './naming.ts';
import type { RepositoryRecord, SessionRecord } from './record.ts';

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
  /** What the person should know: an offline remote, a base that is ahead. */
  notes: string[];
}

/**
 * Decides everything about a session and writes it down: from here on it can be carried out again after a crash.
 * Makes nothing outside the store.
 * @throws FairleadError whatever is wrong with folder, repository, base, identity, key or names
 */
export async function planSession(
  context: SessionContext,
  request: NewSessionRequest,
  environment: Readonly<Record<string, string>>,
): Promise<Creation> {
  const { table, ids, clock } = context;
  const git = gitOf(context, environment, request.folder);
  const repository = await openRepository(request.folder, git);
  await readIdentity(repository.git);
  refuseTakenKey(context, request.key);
  const base = await findBase(repository, request.base, { timeoutMs: 30_000 });
  const main = repository.mainCheckout ?? repository.topLevel;
  const config = context.configFor(main);
  const title = request.title ?? titleOf(request.prompt);
  const prefix = config.branch.prefix ?? 'fairlead/';
  const id = ids.short(6);
  const slug = await freeName(
    slugOf(title),
    async (name) =>
      (await branchExists(repository.git, prefix + name)) ||
      table.list({ archived: false }).some((each) => each.branch === prefix + name),
    ids,
  );
  const uncommitted = changedPaths(await readStatus(repository.git.in(repository.topLevel))).length;
  const now = clock.now();
  const record = table.transaction(() => {
    const known = table.repositoryOf(repository.commonDir, main, ids.short(8), now);
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
      agent: request.agent ?? 'claude',
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
    notes: notesOn(base, now),
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
  const worktree = await addWorktree(repository, {
    folder: record.worktree,
    branch: record.branch,
    from: record.base_commit,
    lockReason: `Fairlead session ${record.id}`,
  });
  try {
    const config = context.configFor(context.table.repository(record.repository).main);
    if (repository.mainCheckout !== undefined) {
      await copyFiles(repository, worktree.folder, config.worktree.copy);
    }
    if (record.bring_changes) await bringChanges(repository, worktree.folder);
  } catch (error) {
    await discardWorktree(repository, { ...worktree });
    throw error;
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

function worktreeFolder(
  context: SessionContext,
  known: RepositoryRecord,
  repository: Repository,
  place: 'home' | 'sibling' | 'inside',
  slug: string,
  id: string,
): string {
  const main = repository.mainCheckout ?? repository.topLevel;
  const name = `${slug}-${id}`;
  if (place === 'sibling') return join(dirname(main), `.${basename(main)}-worktrees`, name);
  if (place === 'inside') return join(repository.commonDir, 'fairlead-worktrees', name);
  return join(context.paths.worktrees, `${slugOf(basename(main))}-${known.id}`, name);
}

function notesOn(base: Base, now: number): string[] {
  const notes: string[] = [];
  if (base.stale !== undefined) {
    const { lastFetch, why } = base.stale;
    const old = lastFetch === undefined ? 'never fetched' : `last fetched ${minutes(now - lastFetch)} ago`;
    notes.push(`The remote of ${base.branch} could not be fetched (${why}); it was ${old}.`);
  }
  if (base.ahead > 0 && base.upstream !== undefined) {
    notes.push(`${base.branch} has ${base.ahead} commits that ${base.upstream.remote} lacks.`);
  }
  return notes;
}

function minutes(ms: number): string {
  const count = Math.round(ms / 60_000);
  return count < 120 ? `${count} min` : `${Math.round(count / 60)} h`;
}
