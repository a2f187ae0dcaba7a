import type { Store } from '../platform/store.ts';
import { EntryReason, EntryState, LandMethod, LandTarget } from '../protocol/entry.ts';
import { FairleadError } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';

const Flag = z.pipe(
  z.number(),
  z.transform((value) => value !== 0),
);
const Texts = z.pipe(
  z.string(),
  z.transform((text): string[] => z.array(z.string()).parse(JSON.parse(text))),
);

/** An entry of the merge queue as the store has it. */
export const EntryRecord = z.object({
  id: z.string(),
  /** Grows with each entry: first in, first out within a priority. */
  number: z.number(),
  session: z.string(),
  repository: z.string(),
  branch: z.string(),
  base: z.string(),
  target: LandTarget,
  remote: z.nullable(z.string()),
  method: LandMethod,
  check_command: z.nullable(z.string()),
  with_local_commits: Flag,
  priority: z.number(),
  state: EntryState,
  reason: z.nullable(EntryReason),
  message: z.nullable(z.string()),
  paths: Texts,
  /** Ids of sessions; see `dependencies.ts`. */
  after_sessions: Texts,
  head: z.nullable(z.string()),
  tries: z.number(),
  base_moved: z.number(),
  cancel: Flag,
  landed: z.nullable(z.string()),
  queued_at: z.number(),
  changed_at: z.number(),
  ended_at: z.nullable(z.number()),
  /** Not tried again before this time, milliseconds since the epoch. */
  retry_at: z.nullable(z.number()),
  /** What the base was when the person was told that commits would come back to it; null when they were not. */
  rewound_to: z.nullable(z.string()),
  /** How often in a row it was kept by something that nobody foresaw. */
  troubles: z.number(),
});
export type EntryRecord = z.infer<typeof EntryRecord>;

/**
 * What was about to happen to the base, written down before it does. An open one may have happened; a closed one has
 * not as far as anybody could see, but a push that outlived us may still arrive.
 */
export const LandingIntent = z.object({
  entry: z.string(),
  base_seen: z.string(),
  head: z.string(),
  tree: z.string(),
  new_commit: z.string(),
  created_at: z.number(),
});
export type LandingIntent = z.infer<typeof LandingIntent>;

export type EntryPatch = Partial<Omit<EntryRecord, 'id' | 'number' | 'session' | 'repository'>>;

/** The land order, in the store. Every method is one transaction; none awaits. */
export class EntryTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  transaction<T>(work: () => T): T {
    return this.#store.transaction(work);
  }

  /**
   * Puts an entry at the end of the land order.
   * @throws FairleadError `land.already-queued`
   */
  add(entry: Omit<EntryRecord, 'number'>): EntryRecord {
    return this.transaction(() => {
      if (this.openOf(entry.session) !== undefined) {
        throw alreadyQueued(entry.session);
      }
      this.#store.run(
        `INSERT INTO queue_entry
           (id, number, session, repository, branch, base, target, remote, method, check_command, with_local_commits,
            priority, state, reason, message, paths, head, tries, base_moved, cancel, landed, queued_at, changed_at,
            ended_at, retry_at, after_sessions, rewound_to, troubles)
         SELECT :id, coalesce(max(number), 0) + 1, :session, :repository, :branch, :base, :target, :remote, :method,
            :check_command, :with_local_commits, :priority, :state, :reason, :message, :paths, :head, :tries,
            :base_moved, :cancel, :landed, :queued_at, :changed_at, :ended_at, :retry_at, :after_sessions,
            :rewound_to, :troubles
         FROM queue_entry`,
        encode(entry),
      );
      return this.get(entry.id);
    });
  }

  get(id: string): EntryRecord {
    return EntryRecord.parse(this.#store.get('SELECT * FROM queue_entry WHERE id = :id', { id }));
  }

  update(id: string, patch: EntryPatch): void {
    const row = encode(patch);
    const assignments = Object.keys(row).map((name) => `${name} = :${name}`);
    // An entry that has ended stays as it ended, whatever arrives late.
    this.#store.run(`UPDATE queue_entry SET ${assignments.join(', ')} WHERE id = :id AND ended_at IS NULL`, {
      ...row,
      id,
    });
  }

  /** Goes to the end of the land order. */
  requeue(id: string): void {
    this.#store.run(
      'UPDATE queue_entry SET number = (SELECT max(number) + 1 FROM queue_entry) WHERE id = :id AND ended_at IS NULL',
      { id },
    );
  }

  /** Entries that have not ended, in land order. */
  open(): EntryRecord[] {
    return this.#store
      .all('SELECT * FROM queue_entry WHERE ended_at IS NULL ORDER BY priority DESC, number')
      .map((row) => EntryRecord.parse(row));
  }

  /** The newest ended entries, newest first. */
  ended(limit: number): EntryRecord[] {
    return this.#store
      .all(
        'SELECT * FROM queue_entry WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, number DESC LIMIT :limit',
        {
          limit,
        },
      )
      .map((row) => EntryRecord.parse(row));
  }

  openOf(session: string): EntryRecord | undefined {
    const row = this.#store.get('SELECT * FROM queue_entry WHERE session = :session AND ended_at IS NULL', {
      session,
    });
    return row === undefined ? undefined : EntryRecord.parse(row);
  }

  lastOf(session: string): EntryRecord | undefined {
    const row = this.#store.get(
      'SELECT * FROM queue_entry WHERE session = :session ORDER BY number DESC LIMIT 1',
      { session },
    );
    return row === undefined ? undefined : EntryRecord.parse(row);
  }

  /**
   * The last entries of sessions that failed for one of `reasons`, of which the person is not told any more though nothing
   * was landed since.
   */
  withdrawn(reasons: readonly string[]): EntryRecord[] {
    return this.#store
      .all(
        `SELECT entry.* FROM session
         JOIN queue_entry AS entry ON entry.number = (SELECT max(number) FROM queue_entry WHERE session = session.id)
         WHERE session.life <> 'archived' AND session.landing = 'none' AND session.demand IS NULL
           AND entry.state = 'failed' AND entry.reason IN (SELECT value FROM json_each(:reasons))
         ORDER BY entry.number`,
        { reasons: JSON.stringify(reasons) },
      )
      .map((row) => EntryRecord.parse(row));
  }

  /** Whether any entry ever was for a base of this name. */
  hasBase(base: string): boolean {
    return this.#store.get('SELECT 1 FROM queue_entry WHERE base = :base LIMIT 1', { base }) !== undefined;
  }

  /** What of a session has landed, newest first: its head, and the commit that brought it onto the base. */
  landings(session: string): { base: string; head: string; landed: string }[] {
    return this.#store
      .all(
        `SELECT base, head, landed FROM queue_entry
         WHERE session = :session AND head IS NOT NULL AND landed IS NOT NULL ORDER BY number DESC`,
        { session },
      )
      .map(({ base, head, landed }) => ({ base: String(base), head: String(head), landed: String(landed) }));
  }

  /** Heads of a session with which it was told, and of what base, that commits would come back. */
  toldOfDropped(session: string): { head: string; base: string }[] {
    return this.#store
      .all(
        'SELECT head, rewound_to FROM queue_entry WHERE session = :session AND head IS NOT NULL AND rewound_to IS NOT NULL',
        { session },
      )
      .map((row) => ({ head: String(row.head), base: String(row.rewound_to) }));
  }

  /** The newest entry of each repository that ever had one. */
  newestByRepository(): EntryRecord[] {
    return this.#store
      .all('SELECT *, max(number) AS newest FROM queue_entry GROUP BY repository')
      .map((row) => EntryRecord.parse(row));
  }

  /** Asks for the end of an entry, at its next attempt. It wins until the base moves. */
  cancel(id: string): void {
    this.#store.run(
      'UPDATE queue_entry SET cancel = 1, retry_at = NULL WHERE id = :id AND ended_at IS NULL',
      { id },
    );
  }

  // ── Intents ────────────────────────────────────────────────────────────────

  /** Stores the intent to move the base; false when the entry was cancelled first or has ended. */
  intend(intent: LandingIntent): boolean {
    return this.transaction(() => {
      const entry = this.get(intent.entry);
      if (entry.cancel || entry.ended_at !== null) return false;
      this.#store.run(
        `INSERT OR REPLACE INTO landing_intent (entry, base_seen, head, tree, new_commit, created_at, is_open)
         VALUES (:entry, :base_seen, :head, :tree, :new_commit, :created_at, 1)`,
        intent,
      );
      return true;
    });
  }

  /** The intent of which it is not known whether it happened. */
  intent(entry: string): LandingIntent | undefined {
    const row = this.#store.get('SELECT * FROM landing_intent WHERE entry = :entry AND is_open = 1', {
      entry,
    });
    return row === undefined ? undefined : LandingIntent.parse(row);
  }

  closeIntent(entry: string): void {
    this.#store.run('UPDATE landing_intent SET is_open = 0 WHERE entry = :entry', { entry });
  }

  /** Commits that earlier attempts of the entry meant to put on the base for this head, newest first, at most ten. */
  closedIntents(entry: string, head: string): string[] {
    return this.#store
      .all(
        `SELECT new_commit FROM landing_intent WHERE entry = :entry AND head = :head AND is_open = 0
         ORDER BY created_at DESC LIMIT 10`,
        { entry, head },
      )
      .map((row) => String(row.new_commit));
  }

  forgetIntents(entry: string): void {
    this.#store.run('DELETE FROM landing_intent WHERE entry = :entry', { entry });
  }

  // ── Bases ──────────────────────────────────────────────────────────────────

  /** Where the base was when a landing last looked; undefined before the first. */
  baseSeen(repository: string, base: string, target: LandTarget): string | undefined {
    const row = this.#store.get(
      'SELECT commit_id FROM base_seen WHERE repository = :repository AND base = :base AND target = :target',
      { repository, base, target },
    );
    return row === undefined ? undefined : String(row.commit_id);
  }

  keepBaseSeen(repository: string, base: string, target: LandTarget, commit: string): void {
    this.#store.run(
      `INSERT INTO base_seen VALUES (:repository, :base, :target, :commit)
       ON CONFLICT DO UPDATE SET commit_id = excluded.commit_id`,
      { repository, base, target, commit },
    );
  }
}

export function alreadyQueued(session: string): FairleadError {
  return new FairleadError('land.already-queued', 'The session is in the queue already.', {
    hint: `See the land order: fairlead queue; to take it out: fairlead unqueue ${session}`,
  });
}

function encode(entry: EntryPatch): Record<string, string | number | null> {
  const row: Record<string, string | number | null> = {};
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined) continue;
    if (typeof value === 'boolean') row[name] = Number(value);
    else if (Array.isArray(value)) row[name] = JSON.stringify(value);
    else row[name] = value;
  }
  return row;
}
