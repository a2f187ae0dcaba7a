import type * as protocol from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import type { EntryTable } from '../queue/entry-table.ts';
import type { SessionContext } from '../sessions/context.ts';
import { SessionContents } from '../sessions/session-contents.ts';
import { changesOfSession, diffOfSession, diffOfSessions } from '../sessions/session-diff.ts';

/** What sessions have changed, by what has landed of them, as clients read it. */
export class SessionChanges {
  readonly #context: SessionContext;
  readonly #entries: EntryTable;
  readonly #contents: SessionContents;

  constructor(context: SessionContext, entries: EntryTable) {
    this.#context = context;
    this.#entries = entries;
    this.#contents = new SessionContents(context);
  }

  /** @throws as `diffOfSession`, or as `diffOfSessions` where it is compared with another */
  diff(
    { session, against, stat }: z.output<typeof protocol.Diff.params>,
    signal: AbortSignal,
  ): Promise<string> {
    const { table } = this.#context;
    const record = table.resolve(session);
    if (against !== undefined)
      return diffOfSessions(this.#context, record, table.resolve(against), { stat, signal });
    const landings = this.#entries.landings(record.id);
    return diffOfSession(this.#context, record, { stat, landings, signal });
  }

  /** @throws as `changesOfSession` */
  async changes(session: string, signal: AbortSignal): Promise<z.input<typeof protocol.Changes.result>> {
    const record = this.#context.table.resolve(session);
    const landings = this.#entries.landings(record.id);
    const { from, to, files } = await changesOfSession(this.#context, record, { landings, signal });
    return {
      from,
      to,
      files: files.map(({ path, oldPath = null, status, added = null, deleted = null }) => ({
        path,
        oldPath,
        status,
        added,
        deleted,
      })),
    };
  }

  /** @throws as `SessionContents.read` */
  contents(session: string, path: string, commit: string | undefined): Promise<Buffer | null> {
    return this.#contents.read(this.#context.table.resolve(session), path, commit);
  }

  [Symbol.dispose](): void {
    this.#contents[Symbol.dispose]();
  }
}
