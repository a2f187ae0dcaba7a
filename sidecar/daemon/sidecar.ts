import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Ledger } from '../cost/ledger.ts';
import { pricesWith } from '../cost/prices.ts';
import { ScanWorker } from '../cost/transcript-scanner.ts';
import { BUILD } from '../platform/build.ts';
import { pruneBundles } from '../platform/bundle.ts';
import { type Clock, sleep } from '../platform/clock.ts';
import { joinConfigs, readConfig, readRepositoryConfig } from '../platform/config.ts';
import type { Environment } from '../platform/environment.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { MIGRATIONS } from '../platform/migrations.ts';
import { findNode, type NodeRuntime } from '../platform/node-runtime.ts';
import type { Paths } from '../platform/paths.ts';
import { systemProcesses } from '../platform/processes.ts';
import { Store } from '../platform/store.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import {
  EntryChanged,
  EventHappened,
  PROTOCOL_VERSIONS,
  SessionChanged,
  type SidecarInfo,
  type SidecarStatus,
} from '../protocol/protocol.ts';
import type { LandingStep } from '../queue/context.ts';
import { EntryTable } from '../queue/entry-table.ts';
import { HandBackTable } from '../queue/hand-back-table.ts';
import { MergeQueue } from '../queue/merge-queue.ts';
import type { SessionContext } from '../sessions/context.ts';
import { FleetEvents } from '../sessions/events.ts';
import { Fleet } from '../sessions/fleet.ts';
import { findRepository } from '../sessions/found-repository.ts';
import { requireBaseSomewhere } from '../sessions/known-base.ts';
import { SessionTable } from '../sessions/table.ts';
import { TerminalHost } from '../sessions/terminal-host.ts';
import { connectPtyHost } from '../terminals/ptyhost-daemon.ts';
import type { Client } from './client.ts';
import { inspect } from './doctor.ts';
import { tellWaits } from './end-waits.ts';
import { faultPoint } from './fault-point.ts';
import { Followers } from './followers.ts';
import { handlersOf } from './handlers.ts';
import { HomeWatch } from './home-watch.ts';
import { IdleEnd } from './idle-end.ts';
import { PersonLink } from './person-link.ts';
import { queuedSessions } from './queued-sessions.ts';
import { SocketServer } from './server.ts';
import { SessionChanges } from './session-changes.ts';
import { readStatus } from './sidecar-status.ts';
import { StopRequest } from './stop-request.ts';

/** How long clients wait for what agents did while no sidecar ran, in milliseconds: long conversations are read. */
const KNOWN_WITHIN_MS = 1_000;

/** When it does what can wait, in milliseconds after it listens. */
const HOUSEKEEPING_AFTER_MS = 300;

/** How long requests are waited for that were cancelled, in milliseconds. */
const REQUESTS_WITHIN_MS = 5_000;

export interface SidecarOptions {
  paths: Paths;
  environment: Environment;
  /** Folder of the bundle that this sidecar runs from. */
  bundle: string;
  /** Milliseconds with nothing to do after which it ends. */
  idleMs: number;
}

export interface SidecarPlatform {
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** The composition root: makes every part, joins them, and ends them. */
export class Sidecar {
  readonly #options: SidecarOptions;
  readonly #platform: SidecarPlatform;
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #scanner: ScanWorker;
  readonly #events: FleetEvents;
  readonly #terminals: TerminalHost;
  readonly #fleet: Fleet;
  readonly #changes: SessionChanges;
  readonly #queue: MergeQueue;
  readonly #server: SocketServer;
  readonly #idle: IdleEnd;
  readonly #home: HomeWatch;
  readonly #startedAt: number;
  readonly #followers = new Followers();
  readonly #onEnd: () => void;
  readonly #closing = new AbortController();
  #ending = false;
  /** How every session is that was taken up. */
  #isKnown = false;

  /** @throws FairleadError `store.damaged`, `store.newer`, `disk.full`, `home.read-only`, `node.missing` */
  static async open(options: SidecarOptions, platform: SidecarPlatform, onEnd: () => void): Promise<Sidecar> {
    const node = await findNode(systemProcesses, options.environment);
    return new Sidecar(options, platform, node, onEnd);
  }

  private constructor(
    options: SidecarOptions,
    platform: SidecarPlatform,
    node: NodeRuntime,
    onEnd: () => void,
  ) {
    const { paths, environment, bundle, idleMs } = options;
    const { clock, ids, log } = platform;
    this.#options = options;
    this.#platform = platform;
    this.#onEnd = onEnd;
    this.#startedAt = clock.now();
    this.#store = Store.open(paths.database, MIGRATIONS, log);
    this.#events = new FleetEvents(this.#store, clock);
    const table = new SessionTable(this.#store);
    const entries = new EntryTable(this.#store);
    const handBacks = new HandBackTable(this.#store);
    const ledger = Ledger.open(this.#store, pricesWith());
    this.#ledger = ledger;
    this.#scanner = new ScanWorker({ script: join(bundle, 'scan-worker.js'), clock, log });
    const person = new PersonLink(
      paths,
      [node.file, join(bundle, 'fairlead.js')],
      { clock, ids, log },
      () => this.#server.clients,
    );
    const configFor = (main: string) =>
      joinConfigs(
        readConfig(join(paths.home, 'config.toml')),
        readRepositoryConfig(join(main, '.fairlead', 'config.toml')),
        main,
      );
    const step = faultPoint(environment);
    const context: SessionContext = {
      table,
      events: this.#events,
      clock,
      ids,
      log,
      paths,
      transcripts: this.#scanner,
      configFor,
      networkEnvironment: () => person.environment(),
      deadline: (ms, asking) => person.deadline(ms, asking),
      step,
    };
    this.#terminals = new TerminalHost(
      () =>
        connectPtyHost({
          paths,
          bundle: async () => bundle,
          node: async () => node,
          environment,
          idleMs,
          client: `sidecar ${BUILD.version}`,
        }),
      log,
    );
    const fleet = new Fleet(context, this.#terminals, ledger, {
      queueEntry: (session) => entries.openOf(session)?.id ?? null,
      lastLanding: (session) => {
        const entry = entries.lastOf(session);
        return entry === undefined ? null : (entry.message ?? entry.state);
      },
      changed: (session) => {
        this.#followers.tell(SessionChanged, session);
        // Before every session is known for what it is, nothing may be committed in its worktree.
        if (this.#isKnown) this.#queue.tick();
        this.#idle.look();
      },
    });
    this.#fleet = fleet;
    this.#queue = new MergeQueue({
      entries,
      handBacks,
      sessions: queuedSessions(context, fleet),
      events: this.#events,
      clock,
      ids,
      log,
      paths,
      configFor,
      changed: (entry) => {
        this.#followers.tell(EntryChanged, entry);
        this.#fleet.announce(entry.session);
        if (entry.state === 'landed')
          void fleet
            .rest(entry.session)
            .catch((error: unknown) =>
              log.warn('agent not put to sleep', { session: entry.session, error: messageOf(error) }),
            );
      },
      step: (name: LandingStep) => step(name),
    });
    const changes = new SessionChanges(context, entries);
    this.#changes = changes;
    const stopping = new StopRequest({
      clock,
      ptyhostSocket: paths.ptyhostSocket,
      terminals: this.#terminals,
      fleet,
      queue: this.#queue,
      clients: () => this.#server.clients,
      end: (asker) => void this.end(asker),
    });
    const handlers = handlersOf({
      fleet,
      queue: this.#queue,
      ledger,
      events: this.#events,
      paths,
      person,
      status: () => this.#status(),
      doctor: async (folder, client) => {
        await this.#terminals.check();
        const { host: ptyhost, silent } = this.#terminals;
        return inspect({ paths, folder, environment: client.environment, ptyhost, silent, node });
      },
      stop: (request, asker, report) => stopping.run(request, asker, report),
      follow: (client) => this.#followers.add(client),
      requireBase: async (base, environment) => {
        if (!entries.hasBase(base)) await requireBaseSomewhere(context, base, environment);
      },
      diff: (request, signal) => changes.diff(request, signal),
      changes: (session, signal) => changes.changes(session, signal),
      contents: (session, path, commit) => changes.contents(session, path, commit),
      findRepository: (request, environment) => findRepository(context, request, environment),
    });
    this.#server = new SocketServer(
      handlers,
      {
        info: () => this.#info(),
        introduced: (client) => person.renewAgent(client.environment),
        changed: () => this.#idle.look(),
        mayServe: () => this.#home.isOurs,
      },
      clock,
      log,
    );
    this.#idle = new IdleEnd(
      clock,
      idleMs,
      () => this.#isBusy(),
      () => void this.end(),
    );
    this.#home = new HomeWatch([paths.database, paths.sidecarLock], clock, () => {
      log.error('home is gone', { home: paths.home });
      void this.end();
    });
    this.#events.listen((event) => this.#followers.tell(EventHappened, event));
  }

  /** Takes up what was left, then listens: whoever connects sees the fleet as it is, or soon how it is. */
  async serve(): Promise<void> {
    const { known } = await this.#fleet.start();
    const isKnown = known.then(() => {
      this.#isKnown = true;
    });
    await Promise.race([isKnown, sleep(KNOWN_WITHIN_MS)]);
    await this.#server.listen(this.#options.paths.sidecarSocket);
    this.#home.start();
    void isKnown.then(() => {
      if (!this.#ending) this.#queue.tick();
    });
    this.#platform.clock.after(HOUSEKEEPING_AFTER_MS, () => this.#keepHouse());
  }

  /** What nobody waits for: whoever had it started is answered first. */
  #keepHouse(): void {
    if (this.#ending) return;
    this.#idle.look();
    void this.#ledger
      .catchUp(nextTurn, this.#closing.signal)
      .catch((error: unknown) => this.#platform.log.error('cost not caught up', { error: messageOf(error) }));
    const { paths, bundle } = this.#options;
    pruneBundles(paths.versions, bundle, this.#platform.clock);
    // With the code of the first answers, which is not kept again. Else it is kept at an orderly end only.
    flushCompileCache();
  }

  /**
   * Ends in order: nobody new is served, then what is under way ends, then everything else. Agents go on in the
   * ptyhost. `asker` is told what is waited for.
   */
  async end(asker?: Client): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.#closing.abort();
    this.#home.stop();
    const { log } = this.#platform;
    this.#server.stopListening();
    const endTelling = tellWaits(this.#queue, asker, this.#platform);
    // One that fails must not keep the others, nor the process, from ending.
    for (const [part, end] of [
      ['requests', () => this.#endRequests()],
      ['queue', () => this.#queue.stop()],
      ['fleet', () => this.#fleet.stop()],
      ['contents', () => this.#changes[Symbol.dispose]()],
      ['server', () => this.#server.close()],
      ['scanner', () => this.#scanner.close()],
      ['store', () => this.#store.close()],
    ] as const) {
      try {
        await end();
      } catch (error) {
        log.error('not ended in order', { part, error });
      }
    }
    endTelling();
    log.info('sidecar ends');
    this.#onEnd();
  }

  /** What they have begun is kept for the next sidecar; one that does not end is cut off. */
  async #endRequests(): Promise<void> {
    const reason = new FairleadError('daemon.lost', 'The sidecar is ending.', {
      hint: 'Run it again; nothing that was decided is lost.',
    });
    await Promise.race([this.#server.endRequests(reason), sleep(REQUESTS_WITHIN_MS)]);
  }

  #info(): SidecarInfo {
    return {
      protocol: PROTOCOL_VERSIONS,
      version: BUILD.version,
      build: BUILD.id,
      sourcesAt: BUILD.sourcesAt,
      pid: process.pid,
      home: this.#options.paths.home,
    };
  }

  #status(): Promise<SidecarStatus> {
    return readStatus({
      terminals: this.#terminals,
      fleet: this.#fleet,
      clients: () => this.#server.clients.size,
      startedAt: this.#startedAt,
      home: this.#options.paths.home,
      log: this.#platform.log,
    });
  }

  #isBusy(): boolean {
    const live = this.#terminals.terminals.some(({ exited }) => exited === undefined);
    return live || this.#server.clients.size > 0 || this.#queue.isBusy || this.#fleet.isAnyInTurn();
  }
}
