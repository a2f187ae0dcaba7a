import { forgettable, unkeepable } from '../agents/claude/hook-compaction.ts';
import { type HookEvent, readEventFiles } from '../agents/claude/hook-event.ts';
import { eventsFolder } from '../agents/claude/settings.ts';
import {
  claudeConfigDir,
  findSubagentTranscripts,
  findTranscript,
} from '../agents/claude/transcript-path.ts';
import type { Ledger, LedgerRead } from '../cost/ledger.ts';
import { isPrivateFolder, removePrivateFiles } from '../environments/private-folder.ts';
import type { SessionContext } from './context.ts';
import type { Delivery } from './delivery.ts';
import { inTime } from './in-time.ts';
import type { SessionRecord } from './record.ts';
import { TranscriptTail } from './transcript-tail.ts';
import { Trouble } from './trouble.ts';
import { applyToTurns, closeOpenTurn, openMissedTurn, type TurnChange } from './turns.ts';

/** How often an earlier conversation is looked for that left no transcript, in milliseconds: it hardly ever comes. */
const LOOK_FOR_EARLIER_MS = 60_000;

/** Bytes of transcripts for whose cost a look waits. A longer history is read while looks go on. */
const SHORT_BYTES = 4 * 1024 * 1024;

/** So long a look waits for such a reading, in milliseconds. It may have to wait for its thread to be started again. */
const COST_WAIT_MS = 1_000;

/** What one session's agent has told so far, as far as it still matters. */
export class Feed {
  readonly transcript: TranscriptTail;
  readonly trouble: Trouble;
  /** Ids of prompts in the transcript whose turns are known. */
  readonly settled = new Set<string>();
  #events: Map<string, HookEvent> | undefined;

  constructor({ transcripts, clock, log }: SessionContext, session: string) {
    this.trouble = new Trouble(log, session);
    this.transcript = new TranscriptTail(transcripts, clock, this.trouble);
  }

  readonly #sizes = new WeakMap<HookEvent, number>();
  /** Event files were left for the next look. */
  hasMore = false;

  /** Characters of its JSON. */
  sizeOf(event: HookEvent): number {
    const size = this.#sizes.get(event) ?? JSON.stringify(event).length;
    this.#sizes.set(event, size);
    return size;
  }

  /** Hook events by name; `stored` reads those of an earlier sidecar and is called once. */
  events(stored: () => readonly { name: string; body: string }[]): Map<string, HookEvent> {
    this.#events ??= new Map(stored().map(({ name, body }) => [name, JSON.parse(body) as HookEvent]));
    return this.#events;
  }
}

/** Takes in what agents have left for us: event files, transcripts. Each thing counts once, whenever we die. */
export class Intake {
  readonly #context: SessionContext;
  readonly #ledger: Ledger;
  readonly #delivery: Delivery;
  readonly #costChanged: (session: string) => void;
  /** Sessions whose history is being read while looks go on. */
  readonly #reading = new Set<string>();
  /** When conversations without a transcript are looked for again, on the monotonic clock. */
  readonly #lookAgainAt = new Map<string, number>();

  /** `costChanged` is told of what was read after the look that began to read it. */
  constructor(
    context: SessionContext,
    ledger: Ledger,
    delivery: Delivery,
    costChanged: (session: string) => void,
  ) {
    this.#context = context;
    this.#ledger = ledger;
    this.#delivery = delivery;
    this.#costChanged = costChanged;
  }

  /** Gives whether anything that people see has changed. */
  async take(record: SessionRecord, gitDir: string, feed: Feed): Promise<boolean> {
    await this.#followTranscript(this.#transcripts(record, feed), feed);
    const told = this.#takeEvents(record, gitDir, feed);
    // Events may tell of another conversation.
    if (told !== 'nothing') await this.#followTranscript(this.#transcripts(record, feed), feed);
    const said = this.#takeSaid(record, feed);
    return told === 'turn' || said;
  }

  events(session: string, feed: Feed): Map<string, HookEvent> {
    return feed.events(() => this.#context.table.hookEvents(session));
  }

  /** Closes the turn that is open, with what that means for its session; false when none is. */
  endTurn(
    session: string,
    end: { outcome: 'done' | 'interrupted' | 'failed'; answer: string | null; endedAt: number },
  ): boolean {
    const { table } = this.#context;
    // Asked at each look: the history is read only when there is something to close.
    if (table.get(session).outcome !== 'open') return false;
    const closed = table.transaction(() => {
      if (!closeOpenTurn(table, session, end)) return false;
      this.#noteTurns(session, { opened: false, closed: true });
      return true;
    });
    if (closed) this.#tellEnd(session);
    return closed;
  }

  /** Keeps what the hooks dropped, with what it means for turns and prompts; then removes the files. */
  #takeEvents(record: SessionRecord, gitDir: string, feed: Feed): 'nothing' | 'events' | 'turn' {
    const { table, log } = this.#context;
    const folder = eventsFolder(gitDir);
    if (!isPrivateFolder(gitDir, folder)) return 'nothing';
    const { trouble } = feed;
    const found = trouble.within('events not read', undefined, () => readEventFiles(folder));
    if (found === undefined || found.files.length === 0) return 'nothing';
    for (const { file, why } of found.refused) log.warn('event refused', { session: record.id, file, why });
    const known = this.events(record.id, feed);
    const change = table.transaction(() => {
      const fresh = found.events.filter((event) =>
        table.keepHookEvent(record.id, event.name, JSON.stringify(event)),
      );
      const arrived = this.#delivery.confirm(record.id, fresh);
      const turns = applyToTurns(table, record.id, fresh, { arrived, said: feed.transcript.prompts });
      this.#noteTurns(record.id, turns);
      const all = [...known.values(), ...fresh];
      const without = new Set(unkeepable(all, (event) => feed.sizeOf(event)));
      if (without.size > 0) log.warn('events forgotten', { session: record.id, events: without.size });
      const forgotten = [...without, ...forgettable(all.filter(({ name }) => !without.has(name)))];
      table.dropHookEvents(record.id, forgotten);
      return { ...turns, fresh, forgotten };
    });
    for (const event of change.fresh) known.set(event.name, event);
    for (const name of change.forgotten) known.delete(name);
    this.#context.step?.('events-kept');
    // In the order of time: what is left when we die on the way are ends without their beginning, which are harmless.
    const inOrder = found.events.map(({ name }) => name.slice(name.indexOf('-') + 1));
    trouble.within('events not removed', undefined, () =>
      removePrivateFiles(gitDir, folder, new Set([...inOrder, ...found.files])),
    );
    if (change.closed) this.#tellEnd(record.id);
    feed.hasMore = found.more;
    return change.opened || change.closed ? 'turn' : 'events';
  }

  /** What stands in the transcript has arrived and is a turn, though its hook was lost. */
  #takeSaid(record: SessionRecord, feed: Feed): boolean {
    const { table, clock, log } = this.#context;
    const said = feed.transcript.prompts;
    const conversation = table.agentSessions(record.id).at(-1);
    if (said.length === 0 || conversation === undefined) return false;
    return table.transaction(() => {
      const confirmed = this.#delivery.confirmSaid(record.id, said);
      const opened = openMissedTurn(table, record.id, conversation, said, clock.now(), feed.settled);
      if (opened) {
        log.warn('turn without its event', { session: record.id });
        this.#noteTurns(record.id, { opened, closed: false });
      }
      return confirmed || opened;
    });
  }

  #noteTurns(session: string, { opened, closed }: TurnChange): void {
    const { table } = this.#context;
    if (opened) {
      const { landing } = table.get(session);
      table.update(session, {
        demand: null,
        unread: false,
        landing: landing === 'landed' ? 'none' : landing,
        outcome: 'open',
      });
    }
    if (!closed) return;
    const outcome = table.turns(session).at(-1)?.outcome ?? null;
    if (outcome !== 'open') table.update(session, { outcome, unread: true });
  }

  #tellEnd(session: string): void {
    const { table, events } = this.#context;
    events.add({
      kind: 'session-turn',
      session,
      state: null,
      entry: null,
      message: `turn ${table.turnCount(session)} ended`,
    });
  }

  /** Only the conversation at hand tells what the agent does. */
  async #followTranscript(transcripts: readonly (string | null)[], feed: Feed): Promise<void> {
    feed.transcript.follow(transcripts.at(-1) ?? undefined);
    await feed.transcript.read();
  }

  /** Gives whether the cost has changed; of a history that is long, or slow to be read, that is told later. Never rejects. */
  async takeCost(record: SessionRecord, feed: Feed): Promise<boolean> {
    const { id } = record;
    if (this.#reading.has(id)) return false;
    const { trouble } = feed;
    try {
      const own = this.#transcripts(record, feed).filter((path) => path !== null);
      const paths = own.flatMap((path) => [
        path,
        ...trouble.within(`subagents not found: ${path}`, [], () => findSubagentTranscripts(path)),
      ]);
      const waitMs = this.#ledger.unreadBytes(paths) <= SHORT_BYTES ? COST_WAIT_MS : 0;
      this.#reading.add(id);
      const reading = this.#readCost(paths, trouble).finally(() => this.#reading.delete(id));
      if (waitMs > 0 && (await inTime(this.#context.clock, waitMs, reading))) return await reading;
      void reading
        .then((changed) => {
          if (changed) this.#costChanged(id);
        })
        .catch((error: unknown) => trouble.tell('cost not told', error));
    } catch (error) {
      this.#reading.delete(id);
      trouble.tell('cost not taken', error);
    }
    return false;
  }

  async #readCost(paths: readonly string[], trouble: Trouble): Promise<boolean> {
    let read: LedgerRead;
    try {
      read = await this.#ledger.read(paths, this.#context.transcripts);
      trouble.isOver('cost not read');
    } catch (error) {
      trouble.tell('cost not read', error);
      return false;
    }
    const unreadable = new Set(read.unreadable.map(({ message }) => message));
    if (unreadable.size === 0) trouble.isOver('costs missing');
    else trouble.tell('costs missing', [...unreadable].sort().join(' '));
    return read.requests > 0;
  }

  /** Of each conversation in order, null where there is none yet. */
  #transcripts(record: SessionRecord, { trouble }: Feed): (string | null)[] {
    const { table, clock } = this.#context;
    const conversations = table.agentSessions(record.id);
    if (conversations.every(({ transcript }) => transcript !== null)) {
      return conversations.map(({ transcript }) => transcript);
    }
    const configDir = claudeConfigDir(table.environment(record.environment));
    const now = clock.monotonic();
    return conversations.map(({ id, transcript }, at) => {
      if (transcript !== null || configDir === undefined) return transcript;
      const isEarlier = at < conversations.length - 1;
      if (isEarlier && now < (this.#lookAgainAt.get(id) ?? 0)) return null;
      const found = trouble.within('transcript not looked for', undefined, () =>
        findTranscript(configDir, id),
      );
      if (found !== undefined) {
        table.setTranscript(record.id, id, found);
        this.#lookAgainAt.delete(id);
      } else if (isEarlier) this.#lookAgainAt.set(id, now + LOOK_FOR_EARLIER_MS);
      return found ?? null;
    });
  }
}
