import type { Store } from '../platform/store.ts';
import * as z from '../protocol/zod.ts';

const Flag = z.pipe(
  z.number(),
  z.transform((value) => value !== 0),
);
const Texts = z.pipe(
  z.string(),
  z.transform((text): string[] => z.array(z.string()).parse(JSON.parse(text))),
);

/**
 * `preparing`: the agent knows nothing yet. `asked`: it has the prompt, or gets it. `verifying`: its turn has ended.
 * `needs-you`: it does not go on without the person. `closed`: nothing more is done about it.
 */
export const HandBackRowPhase = z.enum(['preparing', 'asked', 'verifying', 'needs-you', 'closed']);
export type HandBackRowPhase = z.infer<typeof HandBackRowPhase>;

/** One time that an entry's agent is asked to resolve what keeps it from landing. */
export const HandBackRecord = z.object({
  entry: z.string(),
  /** Counts from 1 over the life of the entry. */
  n: z.number(),
  /** Counts from 1 for each conflict. */
  try: z.number(),
  kind: z.enum(['conflict']),
  phase: HandBackRowPhase,
  /** The merge in the worktree may have begun: what is open there may be ours. Stored before it begins. */
  begun: Flag,
  /** The commit of the base that is merged. */
  base_commit: z.string(),
  /** Where the branch was before. */
  tip: z.string(),
  /** In conflict. */
  paths: Texts,
  /** What an earlier try left undone, as the agent is told it. */
  missing: z.nullable(z.string()),
  /** Id of the prompt's request: asked for again, it is the same prompt. */
  request: z.string(),
  /** How many turns the session had had when this was last looked at and found not done. */
  turns: z.number(),
  /** The commit about which the person is asked. */
  result: z.nullable(z.string()),
  /** The commit that the person took as it is. */
  accepted: z.nullable(z.string()),
  created_at: z.number(),
});
export type HandBackRecord = z.infer<typeof HandBackRecord>;

export type HandBackPatch = Partial<Omit<HandBackRecord, 'entry' | 'n' | 'request' | 'created_at' | 'kind'>>;

export type NewHandBack = Pick<
  HandBackRecord,
  'entry' | 'try' | 'kind' | 'phase' | 'begun' | 'base_commit' | 'tip' | 'paths' | 'missing' | 'turns'
>;

/** What was handed back, in the store. At most one of an entry is open. */
export class HandBackTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The one that is not closed. */
  open(entry: string): HandBackRecord | undefined {
    const row = this.#store.get("SELECT * FROM hand_back WHERE entry = :entry AND phase <> 'closed'", {
      entry,
    });
    return row === undefined ? undefined : HandBackRecord.parse(row);
  }

  /** Closes what is open, and opens the next. */
  add(next: NewHandBack, now: number): HandBackRecord {
    return this.#store.transaction(() => {
      this.close(next.entry);
      const n = Number(
        this.#store.get('SELECT coalesce(max(n), 0) + 1 AS n FROM hand_back WHERE entry = :entry', {
          entry: next.entry,
        })?.n,
      );
      this.#store.run(
        `INSERT INTO hand_back VALUES (:entry, :n, :try, :kind, :phase, :begun, :base_commit, :tip, :paths, :missing,
           :request, :turns, NULL, NULL, :now)`,
        {
          ...next,
          n,
          begun: Number(next.begun),
          paths: JSON.stringify(next.paths),
          request: `hand-back/${next.entry}/${n}`,
          now,
        },
      );
      const row = this.open(next.entry);
      if (row === undefined) throw new Error('A hand-back that was stored is not there.');
      return row;
    });
  }

  /** Changes one that is still open, and no other. */
  update({ entry, n }: Pick<HandBackRecord, 'entry' | 'n'>, patch: HandBackPatch): void {
    const row: Record<string, string | number | null> = {};
    for (const [name, value] of Object.entries(patch)) {
      if (value === undefined) continue;
      if (typeof value === 'boolean') row[name] = Number(value);
      else if (Array.isArray(value)) row[name] = JSON.stringify(value);
      else row[name] = value;
    }
    const assignments = Object.keys(row).map((name) => `"${name}" = :${name}`);
    this.#store.run(
      `UPDATE hand_back SET ${assignments.join(', ')} WHERE entry = :entry AND n = :n AND phase <> 'closed'`,
      { ...row, entry, n },
    );
  }

  close(entry: string): void {
    this.#store.run("UPDATE hand_back SET phase = 'closed' WHERE entry = :entry AND phase <> 'closed'", {
      entry,
    });
  }
}
