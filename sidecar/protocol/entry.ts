import * as z from './zod.ts';

/** Where landed work goes: the base of the remote, or the base in this clone only. */
export const LandTarget = z.enum(['remote', 'local']);
export type LandTarget = z.infer<typeof LandTarget>;

export const LandMethod = z.enum(['merge', 'squash', 'rebase']);
export type LandMethod = z.infer<typeof LandMethod>;

/** What becomes of files that the agent left uncommitted. */
export const Uncommitted = z.enum(['commit', 'refuse']);
export type Uncommitted = z.infer<typeof Uncommitted>;

/** Every state of an entry of the merge queue; `hasEnded` tells those that are final. */
export const EntryState = z.enum([
  'queued',
  'securing',
  'merging',
  'checking',
  'swapping',
  'waiting',
  'handed-back',
  'landed',
  'failed',
  'cancelled',
  'nothing-to-land',
]);
export type EntryState = z.infer<typeof EntryState>;

/** Why an entry waits or ended, as a word that scripts can match. */
export const EntryReason = z.enum([
  'after',
  'conflict',
  'red-check',
  'base-red',
  'base-refuses-pushes',
  'base-rewound',
  'base-missing',
  'base-diverged',
  'branch-missing',
  'folder-in-the-way',
  'head-moved',
  'offline',
  'sign-in',
  'signing-failed',
  'repository-missing',
  'commit-refused',
  'in-a-turn',
  'uncommitted',
  'cancelled',
  'nothing-to-land',
  'infrastructure',
  'archived',
]);
export type EntryReason = z.infer<typeof EntryReason>;

/** How far it is with a conflict that was handed back. `needs-you`: it does not go on without the person. */
export const HandBackPhase = z.enum(['preparing', 'asked', 'verifying', 'needs-you']);
export type HandBackPhase = z.infer<typeof HandBackPhase>;

/** What the agent of an entry is asked to resolve. */
export const HandBack = z.object({
  phase: HandBackPhase,
  /** From 1. */
  try: z.int(),
  maxTries: z.int(),
  /** The commit of the base that is merged into the branch. */
  base: z.string(),
});
export type HandBack = z.infer<typeof HandBack>;

export const QueueEntry = z.object({
  id: z.string(),
  session: z.string(),
  title: z.string(),
  repo: z.string(),
  branch: z.string(),
  base: z.string(),
  target: LandTarget,
  /** Name of the remote, null for a local target. */
  remote: z.nullable(z.string()),
  method: LandMethod,
  check: z.nullable(z.string()),
  state: EntryState,
  reason: z.nullable(EntryReason),
  /** One line for people: what it waits for, or why it ended. */
  message: z.nullable(z.string()),
  paths: z.array(z.string()),
  /** Ids of the sessions that have to land on the base before. */
  after: z._default(z.array(z.string()), []),
  /** Place in the land order of its base, from 1; null once it ended. */
  position: z.nullable(z.int()),
  /** Conflicts and red checks so far, and each time that an agent was asked again. */
  tries: z.int(),
  /** Set while it is handed back. */
  handBack: z._default(z.nullable(HandBack), null),
  baseMoved: z.int(),
  /** The commit that is to land; null until the work is secured. */
  head: z.nullable(z.string()),
  /** The commit on the base that brought the work, once landed. */
  landed: z.nullable(z.string()),
  queuedAt: z.number(),
  /** When it came to be as it is, milliseconds since the epoch. */
  changedAt: z.number(),
  endedAt: z.nullable(z.number()),
  /** Only in the answer to `queue/land`: its target is kept for the repository from now on, and was not before. */
  kept: z.optional(z.boolean()),
});
export type QueueEntry = z.infer<typeof QueueEntry>;
