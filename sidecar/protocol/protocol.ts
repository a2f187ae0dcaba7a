import * as z from 'zod';
import { EntryState, LandMethod, LandTarget, QueueEntry, Uncommitted } from './entry.ts';
import { Reason } from './reason.ts';
import { Cost, DisplayState, PermissionMode, Session, Turn } from './session.ts';

/**
 * JSON-RPC 2.0 over the sidecar's socket, framed as in the Language Server Protocol.
 * Both sides send the versions they speak in `initialize`; the higher common one is used.
 *
 * A version stays what it is: within it a field may be added that may be missing (`.optional()`, `.default(…)`), and
 * nothing else changes. Sidecar and clients are of different ages, and each reads what the other sends. What a version
 * is, is pinned in `test/unit/protocol/version-N.json`.
 */
export const PROTOCOL_VERSIONS = { oldest: 1, newest: 1 } as const;

/** A request of the protocol: its method, and the schemas that both sides check at their edge. */
export interface RequestKind<P extends z.ZodType, R extends z.ZodType> {
  readonly method: string;
  readonly params: P;
  readonly result: R;
}
export interface NotificationKind<P extends z.ZodType> {
  readonly method: string;
  readonly params: P;
}
export type ParamsOf<K> = K extends RequestKind<infer P, z.ZodType> ? z.input<P> : never;
export type ResultOf<K> = K extends RequestKind<z.ZodType, infer R> ? z.output<R> : never;

function request<P extends z.ZodType, R extends z.ZodType>(
  method: string,
  params: P,
  result: R,
): RequestKind<P, R> {
  return { method, params, result };
}
function notification<P extends z.ZodType>(method: string, params: P): NotificationKind<P> {
  return { method, params };
}

const None = z.object({});
const S = z.object({ session: z.string().min(1) });
/** Longest prompt or answer, in UTF-16 units. */
export const MAX_TEXT = 1024 * 1024;
const Text = z.string().min(1).max(MAX_TEXT);

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
  answersQuestions: z.boolean().default(false),
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
  z.object({ initializationOptions: ClientInfo }),
  z.object({ capabilities: z.object({}), fairlead: SidecarInfo }),
);

/** Sent by the sidecar to a client that answers questions: a prompt of ssh or git. Null when declined. */
export const AskPerson = request(
  'client/ask',
  z.object({ question: z.string(), secret: z.boolean() }),
  z.object({ answer: z.string().nullable() }),
);

/** From the askpass helper: a question of git or ssh, to be put to a connected client. */
export const Askpass = request(
  'sidecar/askpass',
  z.object({ question: z.string().max(4096), token: z.string() }),
  z.object({ answer: z.string().nullable() }),
);

/** A name that a client gives a request in its parameter `workDoneToken` to hear of the way to the answer. */
export const ProgressToken = z.union([z.string().max(200), z.int()]);
export type ProgressToken = z.infer<typeof ProgressToken>;

/**
 * What is being done for a request that carried a `workDoneToken`, as the Language Server Protocol has it. Comes any
 * number of times, none included, and never after the answer.
 */
export const Progress = notification(
  '$/progress',
  z.object({
    token: ProgressToken,
    value: z.object({
      kind: z.literal('report'),
      message: z.string(),
      /** Of the whole, from 0 to 100; never less than before. */
      percentage: z.number().min(0).max(100).optional(),
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
  ptyhost: z
    .object({ pid: z.int(), version: z.string(), terminals: z.int(), memoryBytes: z.number().nullable() })
    .nullable(),
  /** Why the ptyhost cannot be told of though there may be one; null when it answers or none is needed. */
  ptyhostFault: z.string().nullable().default(null),
  home: z.string(),
  sessions: z.record(z.string(), z.int()),
  terminals: z.array(
    z.object({
      id: z.string(),
      session: z.string().nullable(),
      pane: z.string(),
      pid: z.int(),
      startedAt: z.number(),
      running: z.boolean(),
    }),
  ),
});
export type SidecarStatus = z.infer<typeof SidecarStatus>;
/** Answered at once: shows that the sidecar is alive. */
export const Ping = request('sidecar/ping', None, z.object({}));
export const Status = request('sidecar/status', None, SidecarStatus);

export const Finding = z.object({
  check: z.string(),
  state: z.enum(['ok', 'warning', 'problem']),
  found: z.string(),
  hint: z.string().nullable(),
});
export type Finding = z.infer<typeof Finding>;
export const Doctor = request(
  'sidecar/doctor',
  z.object({ folder: z.string().nullable() }),
  z.array(Finding),
);

/** Ends the sidecar; with `terminals` also the ptyhost and every agent. */
export const StopSidecar = request(
  'sidecar/stop',
  z.object({ terminals: z.boolean(), onlyIfIdle: z.boolean().default(false) }),
  z.object({
    stopped: z.boolean(),
    /** Terminals that go on. */
    running: z.int(),
    /** Agents that were ended. */
    ended: z.int().default(0),
    /** Agents that no session knew of, and that the sidecar had ended for that since it began. */
    orphans: z.int().default(0),
  }),
);

/**
 * To the client that asked for the end, whenever it changes: what is waited for, in words. To every other one once, with
 * nothing: somebody has ended the sidecar, and it is not to be started again by itself.
 */
export const SidecarEnding = notification('sidecar/ending', z.object({ waitsFor: z.array(z.string()) }));

// ── Sessions ─────────────────────────────────────────────────────────────────

/** Most sessions that one `session/new` makes. */
export const MAX_ATTEMPTS = 16;

/**
 * A client's own id of a request. The same one again, also to another sidecar and while the first is under way, makes
 * nothing a second time: it goes on with what the first has made, and answers as that.
 */
const RequestId = z.uuid().optional();

/** A name for a session that is the person's own. */
export const Key = z
  .string()
  .regex(/^[\w.:/@-]{1,100}$/, 'A key has 1 to 100 letters, digits or . : / @ - _');

export const NewSession = request(
  'session/new',
  z.object({
    /** Absolute folder in the repository; below its root it becomes the agent's folder in the worktree. */
    folder: z.string(),
    prompt: Text.optional(),
    title: z.string().max(200).optional(),
    base: z.string().optional(),
    agent: z.string().optional(),
    model: z.string().optional(),
    mode: PermissionMode.optional(),
    /** A name that is the caller's own; a second session of the same key is refused. */
    key: Key.optional(),
    start: z.boolean().default(true),
    /** How many sessions try the prompt side by side, from one commit. They are one family. */
    attempts: z.int().min(1).max(MAX_ATTEMPTS).default(1),
    /** Whether uncommitted changes of the main checkout are copied into the worktree. */
    bringChanges: z.boolean().default(false),
    requestId: RequestId,
  }),
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
  z.object({ repo: z.string().optional(), archived: z.boolean().default(false) }),
  z.array(Session),
);
export const ShowSession = request('session/show', S, Session);
export const SendPrompt = request(
  'session/send',
  S.extend({ text: Text, requestId: RequestId }),
  z.object({ session: Session, confirmed: z.boolean() }),
);
export const Answer = request(
  'session/answer',
  S.extend({
    answer: z.union([z.literal('allow'), z.literal('deny'), Text]),
    /** What is answered, as `Session.need` had it when it was read; without it, what is asked when this arrives. */
    need: z.int().optional(),
  }),
  Session,
);
/** What the person is needed for, in full: a tool's input of any length. */
export const ShowNeed = request(
  'session/need',
  S,
  z.object({ need: z.int().nullable(), reason: Reason.nullable() }),
);
/** Prompts that were kept for the agent and that it has not got, oldest first; of an archived session it never will. */
export const UnsentPrompts = request('session/unsent', S, z.object({ prompts: z.array(z.string()) }));
export const Interrupt = request('session/interrupt', S, Session);

export const WaitGoal = z.enum(['turn', 'needs-you', 'finished', 'landed']);
export type WaitGoal = z.infer<typeof WaitGoal>;
export const Wait = request(
  'session/wait',
  S.extend({ goal: WaitGoal, timeoutSeconds: z.number().positive().max(86_400).optional() }),
  z.object({ session: Session, reached: z.boolean() }),
);

/** Starts the agent of a sleeping session again, with its conversation. */
export const Resume = request('session/resume', S, Session);
export const Rename = request('session/rename', S.extend({ title: z.string().min(1).max(200) }), Session);
export const MarkRead = request('session/read', S, Session);

export const Pane = z.enum(['agent', 'shell']);
export type Pane = z.infer<typeof Pane>;
/** A capability for one byte stream of the ptyhost: single use, short-lived. */
export const Attach = request(
  'session/attach',
  S.extend({ pane: Pane.default('agent') }),
  z.object({ socket: z.string(), ticket: z.string(), terminal: z.string() }),
);

export const Turns = request('session/turns', S, z.array(Turn));
export const Diff = request(
  'session/diff',
  S.extend({
    /** Another session of the same repository: what would turn the work of `session` into its work. */
    against: z.string().min(1).optional(),
    stat: z.boolean().default(false),
  }),
  z.object({ text: z.string() }),
);

export const ChangedFile = z.object({
  /** Below the root of the worktree, with slashes. */
  path: z.string(),
  /** Where a renamed file was. */
  oldPath: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'type-changed', 'unmerged']),
  /** Lines; null for a binary file. */
  added: z.int().nullable(),
  deleted: z.int().nullable(),
});
export type ChangedFile = z.infer<typeof ChangedFile>;
/** What a session changed since it left its base, between two commits; `to` null stands for its worktree. */
export const Changes = request(
  'session/changes',
  S,
  z.object({ from: z.string(), to: z.string().nullable(), files: z.array(ChangedFile) }),
);

/** A file of a session, base64; null when there is none. Without `commit` as it is in the worktree. */
export const Contents = request(
  'session/contents',
  S.extend({
    path: z.string().min(1),
    commit: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/)
      .optional(),
  }),
  z.object({ content: z.string().nullable() }),
);
export const Stop = request('session/stop', S, Session);
export const Archive = request('session/archive', S, Session);

// ── Repositories ─────────────────────────────────────────────────────────────

/** The repository that a folder lies in: its main checkout, null when it lies in none that sessions can start from. */
export const FindRepository = request(
  'repository/find',
  z.object({
    folder: z.string(),
    /** Ask for `uncommitted`, too: git runs the filters that the repository has set. For folders that are trusted. */
    uncommitted: z.boolean().default(false),
  }),
  z.object({
    main: z.string().nullable(),
    /** Branch that is checked out in the folder, null when HEAD is detached. */
    branch: z.string().nullable(),
    /** Branches of the repository that a session can start from and land on, the most recent commit first. */
    branches: z.array(z.string()),
    /** Files of the main checkout that no commit has; empty unless they were asked for. */
    uncommitted: z.array(z.string()),
    /** Why there is none, as one sentence. */
    message: z.string().nullable(),
  }),
);

// ── Landing ──────────────────────────────────────────────────────────────────

/** What landing would do: what is asked of the person before they say yes. */
export const LandPreview = request(
  'queue/preview',
  S,
  z.object({
    target: LandTarget.nullable(),
    /** The target that the person's configuration names, and the one that is kept from an earlier answer. */
    configured: LandTarget.nullable().default(null),
    kept: LandTarget.nullable().default(null),
    remote: z.string().nullable(),
    base: z.string(),
    ahead: z.int(),
    uncommitted: z.array(z.string()),
    /** What the configuration says of them; null when it says nothing. */
    policy: Uncommitted.nullable().default(null),
    /** Commits of the local base that the remote lacks. */
    localOnly: z.int(),
  }),
);
export const Land = request(
  'queue/land',
  S.extend({
    to: LandTarget.optional(),
    check: z.string().optional(),
    method: LandMethod.optional(),
    /** Sessions that have to land on the same base before. */
    after: z.array(z.string().min(1)).max(100).default([]),
    /** Land although the local base has commits that the remote lacks; they go along. */
    withLocalCommits: z.boolean().default(false),
  }),
  QueueEntry,
);
export const ListQueue = request(
  'queue/list',
  z.object({ base: z.string().optional(), ended: z.boolean().default(false) }),
  z.array(QueueEntry),
);
export const Unqueue = request('queue/remove', S, QueueEntry);

// ── Cost ─────────────────────────────────────────────────────────────────────

export const CostGroup = z.enum(['session', 'branch', 'day', 'model', 'family']);
export type CostGroup = z.infer<typeof CostGroup>;
export const CostRow = Cost.extend({
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
  z.object({
    session: z.string().optional(),
    by: CostGroup.default('session'),
    /** First day, `YYYY-MM-DD` in local time. */
    since: z.iso.date().optional(),
  }),
  z.object({ rows: z.array(CostRow), total: CostRow }),
);

// ── Events ───────────────────────────────────────────────────────────────────

export const FleetEvent = z.object({
  /** Grows by one with each event of this home; never used twice. */
  seq: z.int(),
  at: z.number(),
  kind: z.enum(['session-created', 'session-changed', 'session-turn', 'session-archived', 'entry-changed']),
  session: z.string(),
  state: DisplayState.nullable(),
  entry: EntryState.nullable(),
  message: z.string(),
});
export type FleetEvent = z.infer<typeof FleetEvent>;

/**
 * Answers the kept events after `after`; later ones follow as {@link EventHappened} until the connection ends. A client
 * that reads too slowly is let go: it connects again, follows after the last event that it has, and lists anew.
 */
export const FollowEvents = request(
  'events/follow',
  z.object({ after: z.int().default(0), follow: z.boolean().default(true) }),
  z.object({ events: z.array(FleetEvent), seq: z.int() }),
);
export const EventHappened = notification('events/happened', FleetEvent);
/** The session as it is: sent to every connection that follows. */
export const SessionChanged = notification('session/changed', Session);
export const EntryChanged = notification('queue/changed', QueueEntry);
