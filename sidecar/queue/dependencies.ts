import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { baseKey } from './entry-view.ts';
import { type Outcome, RETRY_MS, waits } from './outcome.ts';

/**
 * The ids of the sessions that are to land before `session`.
 * @throws FairleadError `params.invalid` (itself, another base, or each would wait for the other), `session.missing`,
 * `session.ambiguous`
 */
export function requireDependencies(
  context: QueueContext,
  session: SessionRecord,
  names: readonly string[],
): string[] {
  const { sessions, entries } = context;
  const wanted = new Set<string>();
  for (const name of names) {
    const other = sessions.resolve(name);
    if (other.id === session.id) throw refused(`${session.id} cannot land after itself.`);
    if (other.repository !== session.repository || other.base !== session.base) {
      throw refused(`${other.id} does not land on ${session.base}, so ${session.id} cannot land after it.`);
    }
    wanted.add(other.id);
  }
  const after = new Map(entries.open().map((entry) => [entry.session, entry.after_sessions]));
  const seen = new Set<string>();
  const look = [...wanted];
  for (let next = look.pop(); next !== undefined; next = look.pop()) {
    if (next === session.id) throw refused('Each of them would wait for the other.');
    if (seen.has(next)) continue;
    seen.add(next);
    look.push(...(after.get(next) ?? []));
  }
  return [...wanted];
}

function refused(message: string): FairleadError {
  return new FairleadError('params.invalid', message, {
    hint: 'Run `fairlead queue` to see what lands after what.',
  });
}

/** The session that an entry still has to wait for: the first of those that have not landed on its base. */
export function unlandedBefore(
  context: QueueContext,
  entry: EntryRecord,
): { session: string; last: EntryRecord | undefined } | undefined {
  for (const session of entry.after_sessions) {
    const last = context.entries.lastOf(session);
    const isThere = last?.state === 'landed' || last?.state === 'nothing-to-land';
    if (last === undefined || !isThere || baseKey(last) !== baseKey(entry)) return { session, last };
  }
  return undefined;
}

/** What an entry waits for before it is its turn, undefined when it need not. */
export function waitForOthers(context: QueueContext, entry: EntryRecord): Outcome | undefined {
  const before = unlandedBefore(context, entry);
  if (before === undefined) return undefined;
  const { session, last } = before;
  const isUnderWay = last !== undefined && last.ended_at === null;
  if (isUnderWay) return waits('after', `It lands after ${session}.`, RETRY_MS.person);
  if (last === undefined) {
    return waits(
      'after',
      `It lands after ${session}, which is not queued yet: fairlead land ${session}`,
      RETRY_MS.person,
    );
  }
  return waits(
    'after',
    `It lands after ${session}, which left the queue without landing: fairlead show ${session}`,
    RETRY_MS.person,
    {
      demand: 'landing-stopped',
    },
  );
}
