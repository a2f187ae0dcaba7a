import { sleep } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { HostEvent, HostHello, Method, ParamsOf, ResultOf, TerminalInfo } from '../protocol/ptywire.ts';
import type { PtyHostClient } from '../terminals/ptyhost-client.ts';

/** How long the programs of a terminal are waited for after they were told to end, in milliseconds. */
const END_WITHIN_MS = 10_000;

/** What is known of a terminal: as the ptyhost has it, or that it has none of this id. */
export type KnownTerminal = { kind: 'known'; info: TerminalInfo } | { kind: 'gone' } | { kind: 'unknown' };

/**
 * The terminals of this home, as the ptyhost tells of them. Connects when it is needed and again when the connection
 * is lost; a ptyhost that died took every terminal along, and what it had is then `gone`.
 */
export class TerminalHost {
  readonly #connect: () => Promise<PtyHostClient>;
  readonly #log: Log;
  readonly #listeners = new Set<(terminal: string) => void>();
  readonly #terminals = new Map<string, TerminalInfo>();
  #onceReached: (() => void)[] = [];
  #client: Promise<PtyHostClient> | undefined;
  #hello: HostHello | undefined;
  #silent: FairleadError | undefined;
  #closed = false;

  constructor(connect: () => Promise<PtyHostClient>, log: Log) {
    this.#connect = connect;
    this.#log = log;
  }

  /** Calls back with the id of each terminal of which something became known. Returns the end of it. */
  listen(listener: (terminal: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Does `work` once a ptyhost has told what terminals it has; at once when one has. Before anything is made there. */
  onceReached(work: () => void): void {
    if (this.#hello === undefined) this.#onceReached.push(work);
    else work();
  }

  /** The ptyhost that answers, undefined while none is connected. */
  get host(): HostHello | undefined {
    return this.#hello;
  }

  /** Why nothing is known of any terminal though they may all be there: the ptyhost runs and does not answer. */
  get silent(): FairleadError | undefined {
    return this.#silent;
  }

  /** Asks the connected ptyhost something, so that it shows when it does not answer. Never rejects. */
  async check(): Promise<void> {
    if (this.#hello === undefined || this.#closed) return;
    await this.request('list', {}).catch(() => {
      // Whoever does not answer is lost, which is told there.
    });
  }

  /** Every terminal that the connected ptyhost has. */
  get terminals(): readonly TerminalInfo[] {
    return [...this.#terminals.values()];
  }

  /** `unknown` until a ptyhost has answered. */
  terminal(id: string | null): KnownTerminal {
    const info = id === null ? undefined : this.#terminals.get(id);
    if (info !== undefined) return { kind: 'known', info };
    return this.#hello === undefined ? { kind: 'unknown' } : { kind: 'gone' };
  }

  /** Whether somebody was at the terminal at the last {@link refresh}. */
  isAttached(id: string | null): boolean {
    const known = this.terminal(id);
    return known.kind === 'known' && known.info.clients > 0;
  }

  /** @throws FairleadError as the ptyhost answers; `daemon.spawn-failed` */
  async request<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    const client = await this.open();
    return client.request(method, params);
  }

  /** Starts the program of a terminal; the same id again is the same terminal. */
  async create(params: ParamsOf<'create'>): Promise<TerminalInfo> {
    const { terminal } = await this.request('create', params);
    this.#keep(terminal);
    return terminal;
  }

  /**
   * Ends the program of a terminal with all that it started, and drops the terminal. One that is gone is no error.
   * @throws FairleadError `terminal.running` (it does not end), `ptyhost.lost`, `daemon.spawn-failed`: it may run still
   */
  async end(id: string, how: Omit<ParamsOf<'kill'>, 'id'> = {}): Promise<void> {
    // Whether it is there is known only from a ptyhost that answers.
    await this.open();
    if (!this.#isRunning(id)) return this.forget(id);
    try {
      await this.request('kill', { id, ...how });
    } catch (error) {
      if (!(error instanceof FairleadError && error.code === 'terminal.gone')) throw error;
    }
    for (let waited = 0; waited < END_WITHIN_MS && this.#isRunning(id); waited += 50) await sleep(50);
    await this.forget(id);
  }

  /** Drops a terminal that has exited. @throws FairleadError `terminal.running`, `ptyhost.lost` */
  async forget(id: string): Promise<void> {
    await this.request('forget', { id });
    this.#terminals.delete(id);
  }

  #isRunning(id: string): boolean {
    const known = this.terminal(id);
    return known.kind === 'known' && known.info.exited === undefined;
  }

  /** Reads the list anew: repairs whatever event did not come. */
  async refresh(): Promise<void> {
    const { terminals } = await this.request('list', {});
    this.#replace(terminals);
  }

  /** Connects, starting the ptyhost when there is none. */
  open(): Promise<PtyHostClient> {
    if (this.#closed) return Promise.reject(new FairleadError('ptyhost.lost', 'The sidecar is ending.'));
    if (this.#client === undefined) {
      const opening = this.#openOnce();
      this.#client = opening;
      opening.catch((error: unknown) => {
        if (this.#client === opening) this.#client = undefined;
        this.#noteSilence(error);
      });
    }
    return this.#client;
  }

  /** Ends the ptyhost with every terminal in it. Afterwards nothing is started any more. */
  async shutdown(): Promise<void> {
    const client = await this.open();
    // Before it ends: one that is lost is followed by another.
    this.#closed = true;
    await client.request('shutdown', { force: true });
  }

  close(): void {
    this.#closed = true;
    this.#client?.then(
      (client) => client.close(),
      () => {},
    );
  }

  async #openOnce(): Promise<PtyHostClient> {
    const client = await this.#connect();
    // An event may stand right behind the answer that tells of its terminal: that answer is taken in first.
    client.on('event', (event) => setImmediate(() => this.#onEvent(event)));
    client.on('lost', (reason) => this.#onLost(client, reason));
    const { terminals } = await client.request('subscribe', {});
    this.#hello = client.host;
    this.#silent = undefined;
    this.#replace(terminals);
    for (const work of this.#onceReached.splice(0)) work();
    return client;
  }

  #onLost(client: PtyHostClient, reason: FairleadError): void {
    if (this.#hello?.instance === client.host.instance) this.#hello = undefined;
    this.#client = undefined;
    if (this.#closed) return;
    this.#noteSilence(reason);
    this.#log.warn('ptyhost lost', { reason: messageOf(reason) });
    // Whether terminals are gone shows only in the answer of whoever is there now.
    this.open().catch((error: unknown) =>
      this.#log.error('ptyhost not reached', { error: messageOf(error) }),
    );
  }

  #noteSilence(error: unknown): void {
    const isSilent = error instanceof FairleadError && error.code === 'daemon.not-answering';
    const changed = isSilent !== (this.#silent !== undefined);
    this.#silent = isSilent ? error : undefined;
    if (changed) for (const id of this.#terminals.keys()) this.#tell(id);
  }

  #onEvent(event: HostEvent): void {
    if (event.event === 'shutdown') return;
    const info = this.#terminals.get(event.id);
    if (info === undefined) return;
    switch (event.event) {
      case 'exit':
        this.#keep({ ...info, exited: { ...event.exit, at: event.at } });
        return;
      case 'status': {
        const others = info.status.filter((each) => each.id !== event.status.id);
        this.#keep({ ...info, status: [...others, event.status] });
        return;
      }
      case 'title':
        this.#keep({ ...info, title: event.title });
        return;
      case 'activity':
        // Comes twice a second while there is output; nobody is told, a look reads it.
        this.#terminals.set(event.id, { ...info, lastOutputAt: event.at, position: event.position });
        return;
      case 'bell':
        return;
    }
  }

  #keep(info: TerminalInfo): void {
    this.#terminals.set(info.id, info);
    this.#tell(info.id);
  }

  #replace(terminals: readonly TerminalInfo[]): void {
    const ids = new Set([...this.#terminals.keys(), ...terminals.map(({ id }) => id)]);
    this.#terminals.clear();
    for (const info of terminals) this.#terminals.set(info.id, info);
    for (const id of ids) this.#tell(id);
  }

  #tell(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}
