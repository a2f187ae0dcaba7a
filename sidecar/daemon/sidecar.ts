import { existsSync } from 'node:fs';
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
import { isAlive, systemProcesses } from '../platform/processes.ts';
import { Store } from '../platform/store.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import {
  EntryChanged,
  EventHappened,
  PROTOCOL_VERSIONS,
  SessionChanged,
  SidecarEnding,
  type SidecarInfo,
  type SidecarStatus,
} from '../protocol/protocol.ts';
import type { LandingStep } from '../queue/context.ts';
import { EntryTable } from '../queue/entry-table.ts';
import { HandBackTable } from '../queue/hand-back-table.ts';
import { MergeQueue } from '../queue/merge-queue.ts';
import { gitOf, type SessionContext } from '../sessions/context.ts';
import { FleetEvents } from '../sessions/events.ts';
import { Fleet } from '../sessions/fleet.ts';
import { findRepository } from '../sessions/found-repository.ts';
import { requireBaseSomewhere } from '../sessions/known-base.ts';
import type { Report } from '../sessions/progress.ts';
import type { PromptRecord } from '../sessions/record.ts';
import { SessionContents } from '../sessions/session-contents.ts';
import { changesOfSession, diffOfSession, diffOfSessions } from '../sessions/session-diff.ts';
import { SessionTable } from '../sessions/table.ts';
import { TerminalHost } from '../sessions/terminal-host.ts';
import { connectPtyHost } from '../terminals/ptyhost-daemon.ts';
import type { Client } from './client.ts';
import { inspect } from './doctor.ts';
import { faultPoint } from './fault-point.ts';
import { handlersOf } from './handlers.ts';
import { HomeWatch } from './home-watch.ts';
import { IdleEnd } from './idle-end.ts';
import { memoryOf } from './memory.ts';
import { PersonLink } from './person-link.ts';
import { SocketServer } from './server.ts';

/** How long the ptyhost is waited for after it was told to end, in milliseconds. */
const END_WITHIN_MS = 5_000;

/** How long clients wait for what agents did while no sidecar ran, in milliseconds: long conversations are read. */
const KNOWN_WITHIN_MS = 1_000;

/** When it does what can wait, in milliseconds after it listens. */
const HOUSEKEEPING_AFTER_MS = 300;

/** How long requests are waited for that were cancelled, in milliseconds. */
const REQUESTS_WITHIN_MS = 5_000;

/** How often it is looked what an end waits for, in milliseconds. */
const TELL_EVERY_MS = 250;

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
  readonly #contents: SessionContents;
  readonly #queue: MergeQueue;
  readonly #server: SocketServer;
  readonly #idle: IdleEnd;
  readonly #home: HomeWatch;
  readonly #startedAt: number;
  readonly #followers = new Set<Client>();
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
        for (const client of this.#followers) client.notify(SessionChanged, session);
        // Before every session is known for what it is, nothing may be committed in its worktree.
        if (this.#isKnown) this.#queue.tick();
        this.#idle.look();
      },
    });
    this.#fleet = fleet;
    this.#queue = new MergeQueue({
      entries,
      handBacks,
      sessions: {
        resolve: (name) => table.resolve(name),
        get: (id) => table.get(id),
        repository: (id) => table.repository(id),
        setLandTo: (repository, to) => table.setLandTo(repository, to),
        isInTurn: (id) => fleet.isInTurn(id),
        turnCount: (id) => table.turnCount(id),
        setLanding: (id, landing, demand) => fleet.setLanding(id, landing, demand),
        send: async (id, text, request, signal) => {
          await fleet.send(id, text, signal, request);
        },
        promptState: (request) => promptState(table.promptOf(request)),
        lastTurn: (id) => table.lastOutcome(id),
        environment: (session) => table.environment(session.environment),
        git: (session, folder) => gitOf(context, table.environment(session.environment), folder),
      },
      events: this.#events,
      clock,
      ids,
      log,
      paths,
      configFor,
      changed: (entry) => {
        for (const client of this.#followers) client.notify(EntryChanged, entry);
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
    const contents = new SessionContents(context);
    this.#contents = contents;
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
      stop: (request, asker, report) => this.#stop(request, asker, report),
      follow: (client) => this.#follow(client),
      requireBase: async (base, environment) => {
        if (!entries.hasBase(base)) await requireBaseSomewhere(context, base, environment);
      },
      diff: ({ session, against, stat }, signal) => {
        const record = table.resolve(session);
        if (against !== undefined)
          return diffOfSessions(context, record, table.resolve(against), { stat, signal });
        return diffOfSession(context, record, { stat, landings: entries.landings(record.id), signal });
      },
      changes: async (session, signal) => {
        const record = table.resolve(session);
        const landings = entries.landings(record.id);
        const { from, to, files } = await changesOfSession(context, record, { landings, signal });
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
      },
      contents: (session, path, commit) => contents.read(table.resolve(session), path, commit),
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
    this.#events.listen((event) => {
      for (const client of this.#followers) client.notify(EventHappened, event);
    });
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
    const endTelling = this.#tellWaits(asker);
    // One that fails must not keep the others, nor the process, from ending.
    for (const [part, end] of [
      ['requests', () => this.#endRequests()],
      ['queue', () => this.#queue.stop()],
      ['fleet', () => this.#fleet.stop()],
      ['contents', () => this.#contents[Symbol.dispose]()],
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

  /** Tells what is waited for, each time that changes, until the function that is returned is called. */
  #tellWaits(asker: Client | undefined): () => void {
    const { clock, log } = this.#platform;
    let told = '';
    let cancel: () => void = () => {};
    const look = () => {
      const waitsFor = this.#queue.underWay.map(waitOf);
      const now = JSON.stringify(waitsFor);
      if (now !== told && waitsFor.length > 0) {
        log.info('end waits', { for: waitsFor });
        asker?.notify(SidecarEnding, { waitsFor });
      }
      told = now;
      cancel = clock.after(TELL_EVERY_MS, look);
    };
    look();
    return () => cancel();
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

  #follow(client: Client): void {
    this.#followers.add(client);
    client.gone.addEventListener('abort', () => this.#followers.delete(client), { once: true });
  }

  async #status(): Promise<SidecarStatus> {
    if (this.#terminals.host !== undefined) {
      await this.#terminals
        .refresh()
        .catch((error: unknown) => this.#platform.log.warn('ptyhost not asked', { error: messageOf(error) }));
    }
    const { host, silent } = this.#terminals;
    const owners = this.#fleet.terminalOwners();
    return {
      sidecar: {
        pid: process.pid,
        version: BUILD.version,
        build: BUILD.id,
        startedAt: this.#startedAt,
        memoryBytes: process.memoryUsage.rss(),
        clients: this.#server.clients.size,
      },
      ptyhost:
        host === undefined
          ? null
          : {
              pid: host.pid,
              version: host.host,
              terminals: this.#terminals.terminals.length,
              memoryBytes: memoryOf(host.pid),
            },
      ptyhostFault: silent === undefined ? null : `${silent.message} ${silent.hint ?? ''}`.trim(),
      home: this.#options.paths.home,
      sessions: this.#fleet.countStates(),
      terminals: this.#terminals.terminals.map((terminal) => ({
        id: terminal.id,
        session: owners.get(terminal.id)?.session ?? null,
        pane: owners.get(terminal.id)?.pane ?? 'other',
        pid: terminal.pid,
        startedAt: terminal.startedAt,
        running: terminal.exited === undefined,
      })),
    };
  }

  async #stop(
    request: { terminals: boolean; onlyIfIdle: boolean },
    asker: Client,
    report: Report,
  ): Promise<{ stopped: boolean; running: number; ended: number; orphans: number }> {
    const running = () => this.#terminals.terminals.filter(({ exited }) => exited === undefined).length;
    const others = [...this.#server.clients].some((client) => client !== asker);
    if (request.onlyIfIdle && (others || this.#queue.isAtWork || this.#fleet.isAnyInTurn())) {
      return { stopped: false, running: running(), ended: 0, orphans: 0 };
    }
    let ended = 0;
    if (request.terminals) {
      const { ptyhostSocket } = this.#options.paths;
      // What there is to end is known from a ptyhost that has told.
      if (this.#terminals.host !== undefined || existsSync(ptyhostSocket)) await this.#terminals.open();
      ended = this.#agentsRunning();
      if (ended > 0) {
        asker.notify(SidecarEnding, {
          waitsFor: [ended === 1 ? 'one agent to end' : `${ended} agents to end`],
        });
        report(ended === 1 ? 'Ending one agent' : `Ending ${ended} agents`, 0);
      }
      await this.#fleet.stopAll();
      report('Ending the terminals', 60);
      if (this.#terminals.host !== undefined || existsSync(ptyhostSocket)) {
        await this.#terminals.open();
        const pid = this.#terminals.host?.pid;
        await this.#terminals.shutdown();
        if (pid !== undefined) await this.#gone(pid);
      }
    }
    const left = request.terminals ? 0 : running();
    report('Ending the sidecar', 90);
    for (const client of this.#server.clients) {
      if (client !== asker) client.notify(SidecarEnding, { waitsFor: [] });
    }
    // After the answer has gone out.
    setTimeout(() => void this.end(asker), 20);
    return { stopped: true, running: left, ended, orphans: this.#fleet.orphans.size };
  }

  /** Agents of sessions, and those that nobody knows of any more unless they are being ended already. */
  #agentsRunning(): number {
    const owners = this.#fleet.terminalOwners();
    return this.#terminals.terminals.filter(
      ({ id, exited }) =>
        exited === undefined && owners.get(id)?.pane !== 'shell' && !this.#fleet.orphans.has(id),
    ).length;
  }

  /** Waits until a process has ended, for as long as somebody who waits for the answer would. */
  async #gone(pid: number): Promise<void> {
    const { clock } = this.#platform;
    const start = clock.monotonic();
    while (isAlive(pid) && clock.monotonic() - start < END_WITHIN_MS) await sleep(20);
  }

  #isBusy(): boolean {
    const live = this.#terminals.terminals.some(({ exited }) => exited === undefined);
    return live || this.#server.clients.size > 0 || this.#queue.isBusy || this.#fleet.isAnyInTurn();
  }
}

/** What has become of a prompt, for the queue. */
function promptState(prompt: PromptRecord | undefined): 'none' | 'open' | 'arrived' | 'lost' {
  switch (prompt?.state) {
    case undefined:
      return 'none';
    case 'waiting':
    case 'sent':
      return 'open';
    case 'confirmed':
      return 'arrived';
    case 'failed':
      return 'lost';
  }
}

/** What the end of a landing's step means for whoever waits for it. */
function waitOf({ title, base, state, target, remote }: QueueEntry): string {
  switch (state) {
    case 'securing':
      return `the commit of "${title}", with the hooks of the repository`;
    case 'checking':
      return `the check of "${title}" to end`;
    case 'swapping':
      return target === 'remote'
        ? `the push of "${title}" to ${remote ?? 'the remote'}`
        : `"${title}" to land on ${base}`;
    default:
      return `the landing of "${title}" on ${base}`;
  }
}
