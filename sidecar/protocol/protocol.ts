import { EntryState, LandMethod, LandTarget, QueueEntry, Uncommitted } from './entry.ts';
import { type Exchange, exchange, once } from './exchange.ts';
import { Reason } from './reason.ts';
import { Cost, DisplayState, PermissionMode, Session, Turn } from './session.ts';
import * as z from './zod.ts';

/**
 * JSON-RPC 2.0 over the sidecar's socket, framed as in the Language Server Protocol.
 * Both sides send the versions they speak in `initialize`; the higher common one is used.
 *
 * A version stays what it is: within it a field may be added that may be missing (`.optional()`, `.default(…)`), and
 * nothing else changes. Sidecar and clients are of different ages, and each reads what the other sends. What a version
 * is, is pinned in `test/unit/protocol/version-N.json`.
 */
export const PROTOCOL_VERSIONS = { oldest: 1, newest: 1 } as const;

/** A request of the protocol. */
export interface RequestKind<P extends z.ZodMiniType, R extends z.ZodMiniType> extends Exchange<P, R> {
  readonly method: string;
}
export interface NotificationKind<P extends z.ZodMiniType> {
  readonly method: string;
  readonly params: P;
}
export type ParamsOf<K> = K extends RequestKind<infer P, z.ZodMiniType> ? z.input<P> : never;
export type ResultOf<K> = K extends RequestKind<z.ZodMiniType, infer R> ? z.output<R> : never;

function request<P extends z.ZodMiniType, R extends z.ZodMiniType>(
  method: string,
  params: () => P,
  result: () => R,
): RequestKind<P, R> {
  return Object.assign(exchange(params, result), { method });
}
function notification<P extends z.ZodMiniType>(method: string, params: () => P): NotificationKind<P> {
  const made = once(params);
  return {
    method,
    get params() {
      return made();
    },
  };
}

const None = z.object({});
const S = z.object({ session: z.string().check(z.minLength(1)) });
/** Longest prompt or answer, in UTF-16 units. */
export const MAX_TEXT = 1024 * 1024;
const Text = z.string().check(z.minLength(1), z.maxLength(MAX_TEXT));

export const Versions = z.object({ oldest: z.int(), newest: z.int() });
export type Versions = z.infer<typeof Versions>;

// ── Connection ───────────────────────────────────────────────────────────────

export const ClientInfo = z.object({
  protocol: Versions,
  name: z.string(),
  version: z.string(),
  build: z.string(),
  /** The client's login-shell environment; sessions that it makes start in it. */
  environment: z.record(z.string(), z.string()),
  /** Whether the client can put a question of git or ssh to a person. */
  answersQuestions: z._default(z.boolean(), false),
});
export type ClientInfo = z.infer<typeof ClientInfo>;

export const SidecarInfo = z.object({
  protocol: Versions,
  version: z.string(),
  build: z.string(),
  /** When the newest source of the build was written, milliseconds since the epoch. */
  sourcesAt: z.number(),
  pid: z.int(),
  home: z.string(),
});
export type SidecarInfo = z.infer<typeof SidecarInfo>;

/** Never refused: the client compares the versions and leaves by itself. */
export const Initialize = request(
  'initialize',
  () => z.object({ initializationOptions: ClientInfo }),
  () => z.object({ capabilities: z.object({}), fairlead: SidecarInfo }),
);

/** Sent by the sidecar to a client that answers questions: a prompt of ssh or git. Null when declined. */
export const AskPerson = request(
  'client/ask',
  () => z.object({ question: z.string(), secret: z.boolean() }),
  () => z.object({ answer: z.nullable(z.string()) }),
);

/** From the askpass helper: a question of git or ssh, to be put to a connected client. */
export const Askpass = request(
  'sidecar/askpass',
  () => z.object({ question: z.string().check(z.maxLength(4096)), token: z.string() }),
  () => z.object({ answer: z.nullable(z.string()) }),
);

/** A name that a client gives a request in its parameter `workDoneToken` to hear of the way to the answer. */
export const ProgressToken = z.union([z.string().check(z.maxLength(200)), z.int()]);
export type ProgressToken = z.infer<typeof ProgressToken>;

/**
 * What is being done for a request that carried a `workDoneToken`, as the Language Server Protocol has it. Comes any
 * number of times, none included, and never after the answer.
 */
export const Progress = notification('$/progress', () =>
  z.object({
    token: ProgressToken,
    value: z.object({
      kind: z.literal('report'),
      message: z.string(),
      /** Of the whole, from 0 to 100; never less than before. */
      percentage: z.optional(z.number().check(z.gte(0), z.lte(100))),
    }),
  }),
);

// ── Sidecar ──────────────────────────────────────────────────────────────────

export const SidecarStatus = z.object({
  sidecar: z.object({
    pid: z.int(),
    version: z.string(),
    build: z.string(),
    startedAt: z.number(),
    memoryBytes: z.number(),
    clients: z.int(),
  }),
  ptyhost: z.nullable(
    z.object({ pid: z.int(), version: z.string(), terminals: z.int(), memoryBytes: z.nullable(z.number()) }),
  ),
  /** Why the ptyhost cannot be told of though there may be one; null when it answers or none is needed. */
  ptyhostFault: z._default(z.nullable(z.string()), null),
  home: z.string(),
  sessions: z.record(z.string(), z.int()),
  terminals: z.array(
    z.object({
      id: z.string(),
      session: z.nullable(z.string()),
      pane: z.string(),
      pid: z.int(),
      startedAt: z.number(),
      running: z.boolean(),
    }),
  ),
});
export type SidecarStatus = z.infer<typeof SidecarStatus>;
/** Answered at once: shows that the sidecar is alive. */
export const Ping = request(
  'sidecar/ping',
  () => None,
  () => z.object({}),
);
export const Status = request(
  'sidecar/status',
  () => None,
  () => SidecarStatus,
);

export const Finding = z.object({
  check: z.string(),
  state: z.enum(['ok', 'warning', 'problem']),
  found: z.string(),
  hint: z.nullable(z.string()),
});
export type Finding = z.infer<typeof Finding>;
export const Doctor = request(
  'sidecar/doctor',
  () => z.object({ folder: z.nullable(z.string()) }),
  () => z.array(Finding),
);

/** Ends the sidecar; with `terminals` also the ptyhost and every agent. */
export const StopSidecar = request(
  'sidecar/stop',
  () => z.object({ terminals: z.boolean(), onlyIfIdle: z._default(z.boolean(), false) }),
  () =>
    z.object({
      stopped: z.boolean(),
      /** Terminals that go on. */
      running: z.int(),
      /** Agents that were ended. */
      ended: z._default(z.int(), 0),
      /** Agents that no session knew of, and that the sidecar had ended for that since it began. */
      orphans: z._default(z.int(), 0),
    }),
);

/**
 * To the client that asked for the end, whenever it changes: what is waited for, in words. To every other one once, with
 * nothing: somebody has ended the sidecar, and it is not to be started again by itself.
 */
export const SidecarEnding = notification('sidecar/ending', () =>
  z.object({ waitsFor: z.array(z.string()) }),
);

// ── Sessions ─────────────────────────────────────────────────────────────────

/** Most sessions that one `session/new` makes. */
export const MAX_ATTEMPTS = 16;

/**
 * A client's own id of a request. The same one again, also to another sidecar and while the first is under way, makes
 * nothing a second time: it goes on with what the first has made, and answers as that.
 */
const RequestId = z.optional(z.uuid());

/** A name for a session that is the person's own. */
export const Key = z
  .string()
  .check(z.regex(/^[\w.:/@-]{1,100}$/, 'A key has 1 to 100 letters, digits or . : / @ - _'));

export const NewSession = request(
  'session/new',
  () =>
    z.object({
      /** Absolute folder in the repository; below its root it becomes the agent's folder in the worktree. */
      folder: z.string(),
      prompt: z.optional(Text),
      title: z.optional(z.string().check(z.maxLength(200))),
      base: z.optional(z.string()),
      agent: z.optional(z.string()),
      model: z.optional(z.string()),
      mode: z.optional(PermissionMode),
      /** A name that is the caller's own; a second session of the same key is refused. */
      key: z.optional(Key),
      start: z._default(z.boolean(), true),
      /** How many sessions try the prompt side by side, from one commit. They are one family. */
      attempts: z._default(z.int().check(z.gte(1), z.lte(MAX_ATTEMPTS)), 1),
      /** Whether uncommitted changes of the main checkout are copied into the worktree. */
      bringChanges: z._default(z.boolean(), false),
      requestId: RequestId,
    }),
  () =>
    z.object({
      /** The first attempt. */
      session: Session,
      /** Every attempt that was started, in order. One that could not be is told in `notes`. */
      attempts: z.array(Session),
      /** Uncommitted changes of the main checkout that stay behind. */
      leftBehind: z.int(),
      notes: z.array(z.string()),
    }),
);

export const ListSessions = request(
  'session/list',
  () => z.object({ repo: z.optional(z.string()), archived: z._default(z.boolean(), false) }),
  () => z.array(Session),
);
export const ShowSession = request(
  'session/show',
  () => S,
  () => Session,
);
export const SendPrompt = request(
  'session/send',
  () => z.extend(S, { text: Text, requestId: RequestId }),
  () => z.object({ session: Session, confirmed: z.boolean() }),
);
export const Answer = request(
  'session/answer',
  () =>
    z.extend(S, {
      answer: z.union([z.literal('allow'), z.literal('deny'), Text]),
      /** What is answered, as `Session.need` had it when it was read; without it, what is asked when this arrives. */
      need: z.optional(z.int()),
    }),
  () => Session,
);
/** What the person is needed for, in full: a tool's input of any length. */
export const ShowNeed = request(
  'session/need',
  () => S,
  () => z.object({ need: z.nullable(z.int()), reason: z.nullable(Reason) }),
);
/** Prompts that were kept for the agent and that it has not got, oldest first; of an archived session it never will. */
export const UnsentPrompts = request(
  'session/unsent',
  () => S,
  () => z.object({ prompts: z.array(z.string()) }),
);
export const Interrupt = request(
  'session/interrupt',
  () => S,
  () => Session,
);

export const WaitGoal = z.enum(['turn', 'needs-you', 'finished', 'landed']);
export type WaitGoal = z.infer<typeof WaitGoal>;
export const Wait = request(
  'session/wait',
  () =>
    z.extend(S, {
      goal: WaitGoal,
      timeoutSeconds: z.optional(z.number().check(z.positive(), z.lte(86_400))),
    }),
  () => z.object({ session: Session, reached: z.boolean() }),
);

/** Starts the agent of a sleeping session again, with its conversation. */
export const Resume = request(
  'session/resume',
  () => S,
  () => Session,
);
export const Rename = request(
  'session/rename',
  () => z.extend(S, { title: z.string().check(z.minLength(1), z.maxLength(200)) }),
  () => Session,
);
export const MarkRead = request(
  'session/read',
  () => S,
  () => Session,
);

export const Pane = z.enum(['agent', 'shell']);
export type Pane = z.infer<typeof Pane>;
/** A capability for one byte stream of the ptyhost: single use, short-lived. */
export const Attach = request(
  'session/attach',
  () => z.extend(S, { pane: z._default(Pane, 'agent') }),
  () => z.object({ socket: z.string(), ticket: z.string(), terminal: z.string() }),
);

export const Turns = request(
  'session/turns',
  () => S,
  () => z.array(Turn),
);
export const Diff = request(
  'session/diff',
  () =>
    z.extend(S, {
      /** Another session of the same repository: what would turn the work of `session` into its work. */
      against: z.optional(z.string().check(z.minLength(1))),
      stat: z._default(z.boolean(), false),
    }),
  () => z.object({ text: z.string() }),
);

export const ChangedFile = z.object({
  /** Below the root of the worktree, with slashes. */
  path: z.string(),
  /** Where a renamed file was. */
  oldPath: z.nullable(z.string()),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'type-changed', 'unmerged']),
  /** Lines; null for a binary file. */
  added: z.nullable(z.int()),
  deleted: z.nullable(z.int()),
});
export type ChangedFile = z.infer<typeof ChangedFile>;
/** What a session changed since it left its base, between two commits; `to` null stands for its worktree. */
export const Changes = request(
  'session/changes',
  () => S,
  () => z.object({ from: z.string(), to: z.nullable(z.string()), files: z.array(ChangedFile) }),
);

/** A file of a session, base64; null when there is none. Without `commit` as it is in the worktree. */
export const Contents = request(
  'session/contents',
  () =>
    z.extend(S, {
      path: z.string().check(z.minLength(1)),
      commit: z.optional(z.string().check(z.regex(/^[0-9a-f]{40,64}$/))),
    }),
  () => z.object({ content: z.nullable(z.string()) }),
);
export const Stop = request(
  'session/stop',
  () => S,
  () => Session,
);
export const Archive = request(
  'session/archive',
  () => S,
  () => Session,
);

// ── Repositories ─────────────────────────────────────────────────────────────

/** The repository that a folder lies in: its main checkout, null when it lies in none that sessions can start from. */
export const FindRepository = request(
  'repository/find',
  () =>
    z.object({
      folder: z.string(),
      /** Ask for `uncommitted`, too: git runs the filters that the repository has set. For folders that are trusted. */
      uncommitted: z._default(z.boolean(), false),
    }),
  () =>
    z.object({
      main: z.nullable(z.string()),
      /** Branch that is checked out in the folder, null when HEAD is detached. */
      branch: z.nullable(z.string()),
      /** Branches of the repository that a session can start from and land on, the most recent commit first. */
      branches: z.array(z.string()),
      /** Files of the main checkout that no commit has; empty unless they were asked for. */
      uncommitted: z.array(z.string()),
      /** Why there is none, as one sentence. */
      message: z.nullable(z.string()),
      /** What to do about a repository that is there and cannot be used; null where there is none, too. */
      hint: z.optional(z.nullable(z.string())),
      /** Whether there is a commit to start from. */
      hasCommit: z.optional(z.boolean()),
    }),
);

// ── Landing ──────────────────────────────────────────────────────────────────

/** What landing would do: what is asked of the person before they say yes. */
export const LandPreview = request(
  'queue/preview',
  () => S,
  () =>
    z.object({
      target: z.nullable(LandTarget),
      /** The target that the person's configuration names, and the one that is kept from an earlier answer. */
      configured: z._default(z.nullable(LandTarget), null),
      kept: z._default(z.nullable(LandTarget), null),
      remote: z.nullable(z.string()),
      base: z.string(),
      ahead: z.int(),
      uncommitted: z.array(z.string()),
      /** What the configuration says of them; null when it says nothing. */
      policy: z._default(z.nullable(Uncommitted), null),
      /** Commits of the local base that the remote lacks. */
      localOnly: z.int(),
      /** False where nothing would land, which `queue/land` says: nobody has to say where. A turn may come to something. */
      mayLand: z.optional(z.boolean()),
    }),
);
export const Land = request(
  'queue/land',
  () =>
    z.extend(S, {
      to: z.optional(LandTarget),
      check: z.optional(z.string()),
      method: z.optional(LandMethod),
      /** Sessions that have to land on the same base before. */
      after: z._default(z.array(z.string().check(z.minLength(1))).check(z.maxLength(100)), []),
      /** Land although the local base has commits that the remote lacks; they go along. */
      withLocalCommits: z._default(z.boolean(), false),
    }),
  () => QueueEntry,
);
export const ListQueue = request(
  'queue/list',
  () => z.object({ base: z.optional(z.string()), ended: z._default(z.boolean(), false) }),
  () => z.array(QueueEntry),
);
export const Unqueue = request(
  'queue/remove',
  () => S,
  () => QueueEntry,
);

// ── Cost ─────────────────────────────────────────────────────────────────────

export const CostGroup = z.enum(['session', 'branch', 'day', 'model', 'family']);
export type CostGroup = z.infer<typeof CostGroup>;
export const CostRow = z.extend(Cost, {
  group: z.string(),
  requests: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheWriteTokens: z.int(),
  cacheReadTokens: z.int(),
});
export type CostRow = z.infer<typeof CostRow>;
export const CostSummary = request(
  'cost/summary',
  () =>
    z.object({
      session: z.optional(z.string()),
      by: z._default(CostGroup, 'session'),
      /** First day, `YYYY-MM-DD` in local time. */
      since: z.optional(z.iso.date()),
    }),
  () => z.object({ rows: z.array(CostRow), total: CostRow }),
);

// ── Events ───────────────────────────────────────────────────────────────────

export const FleetEvent = z.object({
  /** Grows by one with each event of this home; never used twice. */
  seq: z.int(),
  at: z.number(),
  kind: z.enum(['session-created', 'session-changed', 'session-turn', 'session-archived', 'entry-changed']),
  session: z.string(),
  state: z.nullable(DisplayState),
  entry: z.nullable(EntryState),
  message: z.string(),
});
export type FleetEvent = z.infer<typeof FleetEvent>;

/**
 * Answers the kept events after `after`; later ones follow as {@link EventHappened} until the connection ends. A client
 * that reads too slowly is let go: it connects again, follows after the last event that it has, and lists anew.
 */
export const FollowEvents = request(
  'events/follow',
  () => z.object({ after: z._default(z.int(), 0), follow: z._default(z.boolean(), true) }),
  () => z.object({ events: z.array(FleetEvent), seq: z.int() }),
);
export const EventHappened = notification('events/happened', () => FleetEvent);
/** The session as it is: sent to every connection that follows. */
export const SessionChanged = notification('session/changed', () => Session);
export const EntryChanged = notification('queue/changed', () => QueueEntry);
