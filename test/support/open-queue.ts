import { readFileSync } from 'node:fs';
import type { Children } from '../../sidecar/git/children.ts';
import { Git } from '../../sidecar/git/git.ts';
import type { Clock } from '../../sidecar/platform/clock.ts';
import { systemClock } from '../../sidecar/platform/clock.ts';
import { type Config, EMPTY_CONFIG, joinConfigs, type PersonConfig } from '../../sidecar/platform/config.ts';
import { systemIds } from '../../sidecar/platform/ids.ts';
import type { Log } from '../../sidecar/platform/log.ts';
import { MIGRATIONS } from '../../sidecar/platform/migrations.ts';
import { type Paths, pathsFor, preparePaths } from '../../sidecar/platform/paths.ts';
import { Store } from '../../sidecar/platform/store.ts';
import type { LandingStep } from '../../sidecar/queue/context.ts';
import { EntryTable } from '../../sidecar/queue/entry-table.ts';
import { HandBackTable } from '../../sidecar/queue/hand-back-table.ts';
import { MergeQueue } from '../../sidecar/queue/merge-queue.ts';
import { FleetEvents } from '../../sidecar/sessions/events.ts';
import { SessionTable } from '../../sidecar/sessions/table.ts';

/** With what the fleet does for it. */
export type QueueStep = LandingStep | 'prompt-stored';

export interface OpenQueueOptions {
  home: string;
  /** Of the person. */
  environment: Record<string, string>;
  config?: Partial<PersonConfig>;
  /** What the repository's own file says. */
  shared?: Partial<Config>;
  children?: Children;
  clock?: Clock;
  step?: (name: QueueStep) => Promise<void> | void;
}

/** A merge queue with everything below it real, and sessions that are rows in the store. Needs no test runner. */
export interface OpenQueue {
  paths: Paths;
  store: Store;
  table: SessionTable;
  entries: EntryTable;
  handBacks: HandBackTable;
  events: FleetEvents;
  queue: MergeQueue;
  /** Sessions whose agent is in a turn. */
  inTurn: Set<string>;
  /** What was logged, as text. */
  logged: string[];
  config: PersonConfig;
  step: (name: QueueStep) => Promise<void> | void;
  addSession(main: string, session: NewSession): void;
  close(): Promise<void>;
}

export interface NewSession {
  id: string;
  title: string;
  branch: string;
  base: string;
  worktree: string;
  /** Where it started; unknown when it is left out. */
  base_commit?: string;
}

export function openQueue(options: OpenQueueOptions): OpenQueue {
  const { home, environment, children, clock = systemClock } = options;
  const paths = pathsFor({ FAIRLEAD_HOME: home });
  preparePaths(paths);
  const store = Store.open(paths.database, MIGRATIONS);
  const table = new SessionTable(store);
  const entries = new EntryTable(store);
  const handBacks = new HandBackTable(store);
  const events = new FleetEvents(store, clock);
  const inTurn = new Set<string>();
  const logged: string[] = [];
  const note = (level: string) => (message: string, fields?: object) =>
    void logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log: Log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const parts = {
    paths,
    store,
    table,
    entries,
    handBacks,
    events,
    inTurn,
    logged,
    config: { ...EMPTY_CONFIG, ...options.config },
    step: options.step ?? (() => {}),
  };
  const queue = new MergeQueue({
    entries,
    handBacks,
    sessions: {
      resolve: (name) => table.resolve(name),
      get: (id) => table.get(id),
      repository: (id) => table.repository(id),
      setLandTo: (repository, to) => table.setLandTo(repository, to),
      isInTurn: (id) => inTurn.has(id),
      turnCount: (id) => table.turnCount(id),
      setLanding: (id, landing, demand) => {
        const asks = demand === null ? ('finished' as const) : ('needs-you' as const);
        table.update(id, {
          landing,
          demand,
          ...(inTurn.has(id) ? {} : { agent_fact: asks, reason: demand }),
        });
      },
      send: async (session, text, request) => {
        keepPrompt(table, session, text, request, clock.now());
        parts.step('prompt-stored');
      },
      promptState: (request) => PROMPT_STATES[table.promptOf(request)?.state ?? 'none'],
      lastTurn: (id) => table.lastOutcome(id),
      environment: (session) => table.environment(session.environment),
      git: (session, folder) =>
        new Git(folder, {
          environment: table.environment(session.environment),
          ...(children === undefined ? {} : { children }),
        }),
    },
    events,
    clock,
    ids: systemIds,
    log,
    paths,
    configFor: (main) => joinConfigs(parts.config, { ...EMPTY_CONFIG, ...options.shared }, main),
    changed: () => queue.tick(),
    step: (name) => parts.step(name),
  });
  return Object.assign(parts, {
    queue,
    addSession: (main: string, session: NewSession) =>
      addSession(table, environment, main, session, clock.now()),
    async close() {
      await queue.stop();
      store.close();
    },
  });
}

/** Of a linked worktree. Source: gitrepository-layout(5). */
function gitDirOf(worktree: string): string {
  return readFileSync(`${worktree}/.git`, 'utf8')
    .replace(/^gitdir: /, '')
    .trimEnd();
}

const PROMPT_STATES = {
  none: 'none',
  waiting: 'open',
  sent: 'open',
  confirmed: 'arrived',
  failed: 'lost',
} as const;

/** As the fleet does: once for each request. Nobody brings it anywhere. */
function keepPrompt(table: SessionTable, session: string, text: string, request: string, now: number): void {
  if (table.promptOf(request) !== undefined) return;
  table.addPrompt({
    id: systemIds.uuid(),
    session,
    text,
    state: 'waiting',
    via: 'paste',
    tries: 0,
    created_at: now,
    sent_at: null,
    confirmed_at: null,
    request,
  });
  // What that does to the facts is seen a look later.
  table.update(session, { demand: null });
}

function addSession(
  table: SessionTable,
  environment: Record<string, string>,
  main: string,
  session: NewSession,
  now: number,
): void {
  const commonDir = `${main}/.git`;
  const repository = table.repositoryOf(commonDir, main, systemIds.short(8), now);
  table.insert({
    base_commit: '',
    ...session,
    key: null,
    repository: repository.id,
    remote: null,
    git_dir: gitDirOf(session.worktree),
    folder: '',
    agent: 'claude',
    model: null,
    mode: null,
    environment: table.keepEnvironment(environment),
    bring_changes: false,
    starts: true,
    request: null,
    terminal: null,
    shell: null,
    agent_fact: 'finished',
    landing: 'none',
    life: 'active',
    reason: null,
    demand: null,
    need: 0,
    outcome: null,
    since: now,
    unread: false,
    family: session.id,
    parent: null,
    fork_turn: null,
    created_at: now,
    changed_at: now,
    archived_at: null,
  });
  // The one in which its agent wrote what there is.
  table.openTurn({ session: session.id, agent_session: 'c', event: 'first', prompt: 'p', started_at: now });
  table.closeTurn(session.id, 1, { outcome: 'done', answer: null, endedAt: now });
}
