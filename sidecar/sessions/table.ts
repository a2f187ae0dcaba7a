import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { readTextFile } from '../platform/regular-file.ts';
import type { Bindings, Row, Store } from '../platform/store.ts';
import { FairleadError } from '../protocol/errors.ts';
import { Facts, TurnOutcome } from '../protocol/session.ts';
import {
  AgentSessionRecord,
  PromptRecord,
  RepositoryRecord,
  SessionRecord,
  TurnMessageRecord,
  TurnRecord,
} from './record.ts';
import { RecordCache } from './record-cache.ts';

/** As they were made: those of one request are of one time, and their branches are counted on. */
const FAMILY_ORDER = 'id <> family, created_at, length(branch), branch';

type SessionPatch = Partial<Omit<SessionRecord, 'id'>>;

/** Sessions and what hangs on them, in the store. Every method is one transaction; none awaits. */
export class SessionTable {
  readonly #store: Store;
  readonly #sessions: RecordCache<SessionRecord>;
  readonly #repositories: RecordCache<RepositoryRecord>;

  constructor(store: Store) {
    this.#store = store;
    this.#sessions = new RecordCache(store);
    this.#repositories = new RecordCache(store);
  }

  transaction<T>(work: () => T): T {
    return this.#store.transaction(work);
  }

  /** See `Store.afterCommit`. */
  afterCommit(work: () => void): void {
    this.#store.afterCommit(work);
  }

  // ── Repositories and environments ──────────────────────────────────────────

  /**
   * The repository of `commonDir`, recorded when it was not yet known. A checkout that is known stays the one, as long
   * as it exists: a bare repository has several, and none is its main one.
   */
  repositoryOf(commonDir: string, main: string, id: string, now: number): RepositoryRecord {
    const known = parseRow(
      RepositoryRecord,
      this.#store.get('SELECT * FROM repository WHERE common_dir = :commonDir', { commonDir }),
    );
    if (known !== undefined && known.main !== main && isLinked(known) && existsSync(known.main)) return known;
    this.#store.run(
      `INSERT INTO repository (id, common_dir, main, created_at) VALUES (:id, :commonDir, :main, :now)
       ON CONFLICT (common_dir) DO UPDATE SET main = excluded.main`,
      { id, commonDir, main, now },
    );
    return RepositoryRecord.parse(
      this.#store.get('SELECT * FROM repository WHERE common_dir = :commonDir', { commonDir }),
    );
  }

  /** The repository of `commonDir`, when it was recorded. */
  repositoryWith(commonDir: string): RepositoryRecord | undefined {
    return parseRow(
      RepositoryRecord,
      this.#store.get('SELECT * FROM repository WHERE common_dir = :commonDir', { commonDir }),
    );
  }

  /** With a checkout that exists, if there is one: where that of a bare repository is gone, another worktree of it. */
  repository(id: string): RepositoryRecord {
    const read = () =>
      RepositoryRecord.parse(this.#store.get('SELECT * FROM repository WHERE id = :id', { id }));
    const record = this.#repositories.get(id, read);
    if (!isLinked(record) || existsSync(record.main)) return record;
    const own = new Set(this.list({ archived: false }).map(({ worktree }) => worktree));
    const others = worktreesOf(record.common_dir).filter((folder) => existsSync(folder));
    // One that an agent works in comes last.
    const main = others.find((folder) => !own.has(folder)) ?? others[0];
    return main === undefined ? record : { ...record, main };
  }

  /** Every repository that was recorded. */
  repositories(): RepositoryRecord[] {
    return this.#store.all('SELECT id FROM repository').map(({ id }) => this.repository(String(id)));
  }

  setLandTo(repository: string, to: 'local' | 'remote'): void {
    this.#store.run('UPDATE repository SET land_to = :to WHERE id = :repository', { repository, to });
  }

  /** Keeps a set of variables once, under the hash of its content. */
  keepEnvironment(variables: Readonly<Record<string, string>>): string {
    const text = JSON.stringify(Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1)));
    const id = createHash('sha256').update(text).digest('hex').slice(0, 24);
    this.#store.run('INSERT OR IGNORE INTO environment VALUES (:id, :text)', { id, text });
    return id;
  }

  environment(id: string): Record<string, string> {
    const row = this.#store.get('SELECT variables FROM environment WHERE id = :id', { id });
    return Object.fromEntries(JSON.parse(String(row?.variables ?? '[]')) as [string, string][]);
  }

  /** Whether the machine was started anew since the last call, which notes `boot`. False at the very first. */
  bootChanged(boot: string): boolean {
    return this.transaction(() => {
      const before = this.#store.get("SELECT value FROM meta WHERE name = 'boot'")?.value;
      // A write waits for the disk, at every start.
      if (before === boot) return false;
      this.#store.run(
        "INSERT INTO meta VALUES ('boot', :boot) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        { boot },
      );
      return before !== undefined;
    });
  }

  // ── Sessions ───────────────────────────────────────────────────────────────

  insert(record: SessionRecord): void {
    const row = encode(record);
    const names = Object.keys(row);
    this.#store.run(
      `INSERT INTO session (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
      row,
    );
  }

  update(id: string, patch: SessionPatch): void {
    const row = encode(patch);
    const assignments = Object.keys(row).map((name) => `${name} = :${name}`);
    if (assignments.length > 0) {
      this.#store.run(`UPDATE session SET ${assignments.join(', ')} WHERE id = :id`, { ...row, id });
    }
  }

  /** Forgets a session that never came to be. */
  remove(id: string): void {
    this.#store.run('DELETE FROM session WHERE id = :id', { id });
  }

  find(id: string): SessionRecord | undefined {
    return this.#sessions.get(id, () =>
      parseRow(SessionRecord, this.#store.get('SELECT * FROM session WHERE id = :id', { id })),
    );
  }

  /** @throws FairleadError `session.missing` */
  get(id: string): SessionRecord {
    const record = this.find(id);
    if (record === undefined) throw missing(id);
    return record;
  }

  list(filter: { archived: boolean }): SessionRecord[] {
    const where = filter.archived ? '' : "WHERE life <> 'archived'";
    return this.#store.all(`SELECT * FROM session ${where}`).map((row) => this.#session(row));
  }

  /** The sessions that a client's request made, as it made them. */
  madeBy(request: string): SessionRecord[] {
    return this.#store
      .all(`SELECT * FROM session WHERE request = :request AND life <> 'archived' ORDER BY ${FAMILY_ORDER}`, {
        request,
      })
      .map((row) => this.#session(row));
  }

  /** Of all that ever were in the family, 1 for the first; null where there was no other. */
  placeInFamily({ id, family }: Pick<SessionRecord, 'id' | 'family'>): number | null {
    const ids = this.#store
      .all(`SELECT id FROM session WHERE family = :family ORDER BY ${FAMILY_ORDER}`, { family })
      .map((row) => row.id);
    return ids.length < 2 ? null : ids.indexOf(id) + 1;
  }

  withKey(key: string): SessionRecord | undefined {
    const row = this.#store.get('SELECT * FROM session WHERE key = :key AND archived_at IS NULL', { key });
    return row === undefined ? undefined : this.#session(row);
  }

  #session(row: Row): SessionRecord {
    return this.#sessions.get(String(row.id), () => SessionRecord.parse(row));
  }

  /**
   * The session that a person means: an id, a key, a branch, or the beginning of exactly one id.
   * Live sessions win over archived ones.
   * @throws FairleadError `session.missing`, `session.ambiguous` (with the candidates)
   */
  resolve(name: string): SessionRecord {
    const exact = this.#store
      .all('SELECT * FROM session WHERE id = :name OR key = :name OR branch = :name', { name })
      .map((row) => this.#session(row));
    const found = preferLive(exact.length > 0 ? exact : this.#withPrefix(name));
    const [first, ...others] = found;
    if (first === undefined) throw missing(name);
    if (others.length > 0) {
      throw new FairleadError('session.ambiguous', `"${name}" names ${found.length} sessions.`, {
        hint: `Use more of the id: ${found.map(({ id, title }) => `${id} (${title})`).join(', ')}.`,
        data: found.map(({ id }) => id),
      });
    }
    return first;
  }

  #withPrefix(prefix: string): SessionRecord[] {
    return this.#store
      .all('SELECT * FROM session WHERE substr(id, 1, length(:prefix)) = :prefix', { prefix })
      .map((row) => this.#session(row));
  }

  /** How many sessions have which facts, archived ones too. */
  countFacts(): { facts: Facts; sessions: number }[] {
    return this.#store
      .all(
        `SELECT agent_fact AS agent, landing, life, count(*) AS sessions
         FROM session GROUP BY agent_fact, landing, life`,
      )
      .map((row) => ({ facts: Facts.parse(row), sessions: Number(row.sessions) }));
  }

  /** The terminals of sessions that are not archived, by their ids. */
  terminalOwners(): Map<string, { session: string; pane: 'agent' | 'shell' }> {
    const owners = new Map<string, { session: string; pane: 'agent' | 'shell' }>();
    for (const row of this.#store.all("SELECT id, terminal, shell FROM session WHERE life <> 'archived'")) {
      const session = String(row.id);
      if (typeof row.shell === 'string') owners.set(row.shell, { session, pane: 'shell' });
      if (typeof row.terminal === 'string') owners.set(row.terminal, { session, pane: 'agent' });
    }
    return owners;
  }

  // ── Agent sessions ─────────────────────────────────────────────────────────

  agentSessions(session: string): AgentSessionRecord[] {
    return this.#store
      .all('SELECT * FROM agent_session WHERE session = :session ORDER BY ordinal', { session })
      .map((row) => AgentSessionRecord.parse(row));
  }

  /** Appends an agent session id; one that is already the last changes nothing, an earlier one becomes the last. */
  appendAgentSession(session: string, id: string, now: number): void {
    const known = this.agentSessions(session);
    const last = known.at(-1);
    if (last?.id === id) return;
    const again = known.find((entry) => entry.id === id);
    if (again !== undefined) {
      this.#store.run('DELETE FROM agent_session WHERE session = :session AND ordinal = :ordinal', {
        session,
        ordinal: again.ordinal,
      });
    }
    this.#store.run(
      'INSERT INTO agent_session (session, ordinal, id, transcript, started_at) VALUES (:session, :ordinal, :id, :transcript, :now)',
      { session, ordinal: (last?.ordinal ?? 0) + 1, id, transcript: again?.transcript ?? null, now },
    );
  }

  setTranscript(session: string, id: string, transcript: string): void {
    this.#store.run(
      'UPDATE agent_session SET transcript = :transcript WHERE session = :session AND id = :id',
      { session, id, transcript },
    );
  }

  // ── Hook events ────────────────────────────────────────────────────────────

  /** Keeps an event under the name of its file; gives false when it was known. */
  keepHookEvent(session: string, name: string, body: string): boolean {
    return (
      this.#store.run('INSERT OR IGNORE INTO hook_event VALUES (:session, :name, :body)', {
        session,
        name,
        body,
      }) > 0
    );
  }

  hookEvents(session: string): { name: string; body: string }[] {
    return this.#store
      .all('SELECT name, body FROM hook_event WHERE session = :session ORDER BY name', { session })
      .map((row) => ({ name: String(row.name), body: String(row.body) }));
  }

  dropHookEvents(session: string, names: readonly string[]): void {
    this.transaction(() => {
      for (const name of names) {
        this.#store.run('DELETE FROM hook_event WHERE session = :session AND name = :name', {
          session,
          name,
        });
      }
    });
  }

  // ── Prompts ────────────────────────────────────────────────────────────────

  addPrompt(prompt: PromptRecord): void {
    this.#store.run(
      `INSERT INTO prompt VALUES (:id, :session, :text, :state, :via, :tries, :created_at, :sent_at, :confirmed_at, :request)`,
      prompt,
    );
  }

  updatePrompt(id: string, patch: Partial<Omit<PromptRecord, 'id' | 'session'>>): void {
    const assignments = Object.keys(patch).map((name) => `${name} = :${name}`);
    this.#store.run(`UPDATE prompt SET ${assignments.join(', ')} WHERE id = :id`, { ...patch, id });
  }

  prompt(id: string): PromptRecord | undefined {
    return parseRow(PromptRecord, this.#store.get('SELECT * FROM prompt WHERE id = :id', { id }));
  }

  /** The prompt that came with a client's request. */
  promptOf(request: string): PromptRecord | undefined {
    return parseRow(
      PromptRecord,
      this.#store.get('SELECT * FROM prompt WHERE request = :request', { request }),
    );
  }

  /** Prompts that have neither arrived nor failed, oldest first. */
  openPrompts(session: string): PromptRecord[] {
    return this.#store
      .all(
        `SELECT * FROM prompt WHERE session = :session AND state IN ('waiting', 'sent') ORDER BY created_at, id`,
        { session },
      )
      .map((row) => PromptRecord.parse(row));
  }

  /** Prompts that were sent and that nobody waits for any longer, the last first: one may arrive all the same. */
  givenUpPrompts(session: string): PromptRecord[] {
    return this.#store
      .all(
        `SELECT * FROM prompt WHERE session = :session AND state = 'failed' AND sent_at IS NOT NULL
         ORDER BY sent_at DESC LIMIT 20`,
        { session },
      )
      .map((row) => PromptRecord.parse(row));
  }

  // ── Turns ──────────────────────────────────────────────────────────────────

  turns(session: string): TurnRecord[] {
    return this.#store
      .all('SELECT * FROM turn WHERE session = :session ORDER BY n', { session })
      .map((row) => TurnRecord.parse(row));
  }

  /** How the last turn has ended, `open` while it runs; null before the first. */
  lastOutcome(session: string): TurnOutcome | null {
    const row = this.#store.get('SELECT outcome FROM turn WHERE session = :session ORDER BY n DESC LIMIT 1', {
      session,
    });
    return row === undefined ? null : TurnOutcome.parse(row.outcome);
  }

  turnCount(session: string): number {
    return Number(
      this.#store.get('SELECT max(n) AS n FROM turn WHERE session = :session', { session })?.n ?? 0,
    );
  }

  /** Opens a turn; one that this event already opened stays as it is. */
  openTurn(turn: Omit<TurnRecord, 'n' | 'answer' | 'outcome' | 'ended_at'>): void {
    this.#store.run(
      `INSERT INTO turn (session, n, agent_session, event, prompt, outcome, started_at)
       SELECT :session, coalesce(max(n), 0) + 1, :agent_session, :event, :prompt, 'open', :started_at
       FROM turn WHERE session = :session
       ON CONFLICT (session, event) DO NOTHING`,
      turn,
    );
  }

  /** In the order of turns, then of time. */
  turnMessages(session: string): TurnMessageRecord[] {
    return this.#store
      .all('SELECT * FROM turn_message WHERE session = :session ORDER BY n, at, event', { session })
      .map((row) => TurnMessageRecord.parse(row));
  }

  /** Once for each event, however often it comes. */
  addTurnMessage(message: TurnMessageRecord): void {
    this.#store.run('INSERT OR IGNORE INTO turn_message VALUES (:session, :n, :event, :text, :at)', message);
  }

  closeTurn(
    session: string,
    n: number,
    end: { outcome: 'done' | 'interrupted' | 'failed'; answer: string | null; endedAt: number },
  ): boolean {
    return (
      this.#store.run(
        `UPDATE turn SET outcome = :outcome, answer = :answer, ended_at = :endedAt
         WHERE session = :session AND n = :n AND outcome = 'open'`,
        { session, n, ...end },
      ) > 0
    );
  }
}

/** Whether the checkout of a repository is a worktree of it, and no place that holds it: so with a bare one. */
function isLinked({ common_dir, main }: RepositoryRecord): boolean {
  return !common_dir.startsWith(join(main, sep));
}

/** The worktrees that a repository knows of, sorted. Some may be gone. Source: gitrepository-layout(5), `worktrees/`. */
function worktreesOf(commonDir: string): string[] {
  const folder = join(commonDir, 'worktrees');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name, 'gitdir'))
    .filter((file) => existsSync(file))
    .map((file) => dirname(resolve(dirname(file), readTextFile(file).trimEnd())));
}

function encode(record: SessionPatch & { id?: string }): Bindings {
  const row: Bindings = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    if (typeof value === 'boolean') row[name] = Number(value);
    else if (typeof value === 'object' && value !== null) row[name] = JSON.stringify(value);
    else row[name] = value;
  }
  return row;
}

function parseRow<T>(schema: { parse(value: unknown): T }, row: Row | undefined): T | undefined {
  return row === undefined ? undefined : schema.parse(row);
}

function preferLive(records: SessionRecord[]): SessionRecord[] {
  const live = records.filter(({ life }) => life !== 'archived');
  return live.length > 0 ? live : records;
}

/** How much of a name an error repeats, in UTF-16 units. */
const MAX_SHOWN = 80;

function missing(name: string): FairleadError {
  const shown = name.length <= MAX_SHOWN ? name : `${name.slice(0, MAX_SHOWN)}…`;
  return new FairleadError('session.missing', `There is no session "${shown}".`, {
    hint: 'Run `fairlead ls` to see the sessions, `fairlead ls --all` for the archived ones too.',
  });
}
