import { messageOf } from '../protocol/errors.ts';
import type { Ender } from './ender.ts';
import type { SessionRecord } from './record.ts';
import type { FleetParts } from './starter.ts';

/** How long an agent with nothing to do, at whose terminal nobody is, stays awake unless set otherwise, in minutes. */
const DEFAULT_MINUTES = 60;

/** How often it is looked for agents that may sleep, in milliseconds. No event tells who leaves a terminal. */
const LOOK_MS = 20_000;

/** So long somebody who was given a ticket to a terminal may take to use it, in milliseconds. */
const COMING_MS = 60_000;

/** Since when, on the monotonic clock, nothing was done in a session and nobody was there. */
interface Quiet {
  since: number;
  /** Another when anything has happened in between. */
  state: string;
}

/**
 * Puts agents to sleep that have had nothing to do for a while, with nobody at their terminals; never one with
 * background tasks. Its conversation stays, and it is started again when it is prompted or opened.
 */
export class IdleSleep {
  readonly #parts: FleetParts;
  readonly #ender: Ender;
  readonly #isInTurn: (id: string) => boolean;
  readonly #quiet = new Map<string, Quiet>();
  readonly #attendedAt = new Map<string, number>();
  /** Their work has landed: they sleep as soon as nobody is there, unless they are given more to do. */
  readonly #whenAlone = new Set<string>();
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(parts: FleetParts, ender: Ender, isInTurn: (id: string) => boolean) {
    this.#parts = parts;
    this.#ender = ender;
    this.#isInTurn = isInTurn;
  }

  start(): void {
    if (this.#stopped) return;
    this.#cancel = this.#parts.context.clock.after(
      LOOK_MS,
      () => void this.look().finally(() => this.start()),
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** Somebody comes to a terminal of the session. */
  attended(id: string): void {
    this.#attendedAt.set(id, this.#parts.context.clock.monotonic());
    this.#quiet.delete(id);
  }

  /** The agent's work has landed and it needs none: it sleeps, now or as soon as nobody is at its terminals. */
  async whenAlone(id: string): Promise<void> {
    await this.#restLanded(id);
  }

  /** Gives whether the agent sleeps, or somebody is with it. */
  async #restLanded(id: string): Promise<boolean> {
    if (!this.#isLanded(id)) {
      this.#whenAlone.delete(id);
      return false;
    }
    this.#whenAlone.add(id);
    const isAtRest = () => this.#isLanded(id) && !this.#isComing(id) && !this.#isInTurn(id);
    if (!isAtRest()) return false;
    // Whether it has background tasks may be known only after the look that comes first there.
    const mayRest = () => isAtRest() && !this.#parts.observation.hasBackground(id);
    const rested = await this.#ender.rest(id, mayRest, { shellToo: true });
    if (rested === 'rests' || !this.#isLanded(id)) this.#whenAlone.delete(id);
    return rested !== 'goes-on';
  }

  #isLanded(id: string): boolean {
    const record = this.#parts.context.table.find(id);
    return record?.landing === 'landed' && record.life === 'active';
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const { log } = this.#parts.context;
    try {
      const idle = this.#idle();
      if (idle.length === 0) return;
      await this.#parts.terminals.refresh();
      for (const record of idle) {
        // What is wrong with one keeps no other awake.
        await this.#lookAt(record).catch((error: unknown) =>
          log.warn('agent not put to sleep', { session: record.id, error: messageOf(error) }),
        );
      }
    } catch (error) {
      log.warn('not looked for agents that may sleep', { error: messageOf(error) });
    }
  }

  /** Those that may rest; forgets what was known of others. */
  #idle(): SessionRecord[] {
    const { table } = this.#parts.context;
    const idle = table.list({ archived: false }).filter(({ id }) => this.#mayRest(id));
    const ids = new Set(idle.map(({ id }) => id));
    for (const map of [this.#quiet, this.#attendedAt]) {
      for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
    }
    for (const id of this.#whenAlone) if (!this.#isLanded(id)) this.#whenAlone.delete(id);
    return idle;
  }

  async #lookAt({ id, repository }: SessionRecord): Promise<void> {
    const { context, terminals } = this.#parts;
    const record = context.table.find(id);
    if (record === undefined || this.#stopped) return;
    if ([record.terminal, record.shell].some((each) => terminals.isAttached(each))) {
      this.attended(id);
      return;
    }
    if (this.#whenAlone.has(id) && (await this.#restLanded(id))) return;
    const now = context.clock.monotonic();
    const state = `${record.changed_at} ${record.terminal} ${context.table.turnCount(id)}`;
    const quiet = this.#quiet.get(id);
    if (quiet?.state !== state) {
      this.#quiet.set(id, { since: now, state });
      return;
    }
    const { main } = context.table.repository(repository);
    const minutes = context.configFor(main).agent.sleepAfterMinutes ?? DEFAULT_MINUTES;
    if (minutes === 0 || now - quiet.since < minutes * 60_000) return;
    const rested = await this.#ender.rest(id, () => this.#mayRest(id), { shellToo: false });
    if (rested === 'rests') context.log.info('idle agent put to sleep', { session: id, minutes });
  }

  #mayRest(id: string): boolean {
    const { context, observation } = this.#parts;
    const { life, agent_fact, terminal } = context.table.get(id);
    const isIdle = life === 'active' && (agent_fact === 'idle' || agent_fact === 'finished');
    return (
      isIdle &&
      terminal !== null &&
      !this.#isComing(id) &&
      !this.#isInTurn(id) &&
      !observation.hasBackground(id)
    );
  }
  #isComing(id: string): boolean {
    const at = this.#attendedAt.get(id);
    return at !== undefined && this.#parts.context.clock.monotonic() - at < COMING_MS;
  }
}
