import { cpSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import { MIGRATIONS } from '../../../sidecar/platform/migrations.ts';
import { pathsFor } from '../../../sidecar/platform/paths.ts';
import { Store } from '../../../sidecar/platform/store.ts';
import { ListSessions, NewSession } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import type { SessionRecord } from '../../../sidecar/sessions/record.ts';
import { SessionTable } from '../../../sidecar/sessions/table.ts';
import { TestClient } from '../../support/client.ts';
import { gone } from '../../support/sidecar.ts';
import type { World } from '../../support/world.ts';

/**
 * Makes sessions without an agent until there are `count`, each with branch and worktree, and gives them all.
 *
 * The sidecar makes one. The others are written while it is down, as it would leave them: a row, a branch, a worktree
 * that git knows. Asking for hundreds one by one takes minutes.
 */
export async function growFleet(world: World, count: number): Promise<Session[]> {
  const there = await sessionsOf(world);
  if (there.length < count) {
    const model = there.find(({ title }) => title.startsWith('Task ')) ?? (await newSession(world));
    const pid = await world.fairlead.sidecarPid();
    process.kill(pid, 'SIGTERM');
    await gone(pid);
    const missing = count - (await leave(world, model, count));
    if (missing !== 0) throw new Error(`${missing} sessions were not made.`);
  }
  const all = await sessionsOf(world);
  const bad = all.find(({ reason }) => reason !== null);
  if (bad !== undefined || all.length < count) {
    throw new Error(`The fleet is not whole: ${JSON.stringify(bad ?? all.length)}`);
  }
  return all;
}

/** Every session, as the sidecar tells of it. */
export async function sessionsOf({ fairlead }: World): Promise<Session[]> {
  await fairlead.json(['up']);
  using client = await TestClient.connect(fairlead.home, { environment: fairlead.environment });
  return await client.request(ListSessions, {});
}

async function newSession({ fairlead, repository }: World): Promise<Session> {
  using client = await TestClient.connect(fairlead.home, { environment: fairlead.environment });
  const { session } = await client.request(NewSession, {
    folder: repository.folder,
    title: 'Task 1',
    start: false,
  });
  return session;
}

/** Writes copies of a session until there are `count` sessions; gives how many there are. */
async function leave({ fairlead, repository }: World, model: Session, count: number): Promise<number> {
  const store = Store.open(pathsFor(fairlead.environment).database, MIGRATIONS);
  try {
    const table = new SessionTable(store);
    const record = table.get(model.id);
    const { length: there } = table.list({ archived: false });
    const copies = Array.from({ length: count - there }, (_, index) => copyOf(record, there + index + 1));
    const branches = copies.map(({ branch, base_commit }) => `create refs/heads/${branch} ${base_commit}\n`);
    repository.gitWith({ input: branches.join('') }, 'update-ref', '--stdin');
    for (const copy of copies) copyWorktree(record, copy);
    table.transaction(() => {
      for (const copy of copies) table.insert(copy);
    });
    return table.list({ archived: false }).length;
  } finally {
    store.close();
  }
}

function copyOf(record: SessionRecord, number: number): SessionRecord {
  const id = systemIds.short(6);
  const slug = `task-${number}`;
  return {
    ...record,
    id,
    family: id,
    request: null,
    title: `Task ${number}`,
    branch: record.branch.replace(/[^/]*$/, slug),
    worktree: join(dirname(record.worktree), `${slug}-${id}`),
    git_dir: join(dirname(record.git_dir ?? ''), `${slug}-${id}`),
    created_at: record.created_at + number,
  };
}

/** What `git worktree add` leaves. Source: gitrepository-layout(5), `worktrees/`. */
function copyWorktree(from: SessionRecord, to: SessionRecord): void {
  if (from.git_dir === null || to.git_dir === null) throw new Error('There is no worktree to copy.');
  cpSync(from.git_dir, to.git_dir, { recursive: true });
  cpSync(from.worktree, to.worktree, { recursive: true });
  writeFileSync(join(to.git_dir, 'HEAD'), `ref: refs/heads/${to.branch}\n`);
  writeFileSync(join(to.git_dir, 'gitdir'), `${join(to.worktree, '.git')}\n`);
  writeFileSync(join(to.worktree, '.git'), `gitdir: ${to.git_dir}\n`);
  if (basename(dirname(to.git_dir)) !== 'worktrees') throw new Error(`${to.git_dir} is no worktree of git.`);
}
