import { Reason } from './reason.ts';
import * as z from './zod.ts';

/** What the agent does. Known from signals, never set by hand. */
export const AgentFact = z.enum(['idle', 'working', 'needs-you', 'finished', 'ended']);
export type AgentFact = z.infer<typeof AgentFact>;

/** Where the work is on its way to the base. */
export const LandingFact = z.enum(['none', 'in-review', 'ready', 'queued', 'landing', 'resolving', 'landed']);
export type LandingFact = z.infer<typeof LandingFact>;

/** Whether the session has a running agent, may get one again, or is put away. */
export const LifeFact = z.enum(['starting', 'active', 'sleeping', 'paused', 'archived']);
export type LifeFact = z.infer<typeof LifeFact>;

export const Facts = z.object({ agent: AgentFact, landing: LandingFact, life: LifeFact });
export type Facts = z.infer<typeof Facts>;

/** The one word that people see: a pure function of the facts, never stored. */
export const DisplayState = z.enum([
  'archived',
  'paused',
  'starting',
  'needs-you',
  'resolving',
  'working',
  'in-review',
  'ready',
  'queued',
  'landing',
  'landed',
  'finished',
  'idle',
  'sleeping',
]);
export type DisplayState = z.infer<typeof DisplayState>;

/** Permission modes of the Claude Code CLI (`--permission-mode`). */
export const PermissionMode = z.enum([
  'acceptEdits',
  'auto',
  'bypassPermissions',
  'manual',
  'dontAsk',
  'plan',
]);
export type PermissionMode = z.infer<typeof PermissionMode>;

/** How a turn ended; `open` while it runs. */
export const TurnOutcome = z.enum(['open', 'done', 'interrupted', 'failed']);
export type TurnOutcome = z.infer<typeof TurnOutcome>;

export const Cost = z.object({
  /** US dollars first spent in this session. */
  ownUsd: z.number(),
  /** US dollars of the whole conversation: own and inherited. */
  usd: z.number(),
  /** Requests whose model has no price: they are in neither sum. */
  unpriced: z.int(),
});
export type Cost = z.infer<typeof Cost>;

export const Turn = z.object({
  /** 1 for the first prompt of the session. */
  n: z.int().check(z.positive()),
  prompt: z.string(),
  /** What the person told the agent while the turn ran, in order. `at`: milliseconds since the epoch. */
  messages: z._default(z.array(z.object({ text: z.string(), at: z.number() })), []),
  answer: z.nullable(z.string()),
  outcome: TurnOutcome,
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  endedAt: z.nullable(z.number()),
  costUsd: z.number(),
  unpriced: z.int(),
});
export type Turn = z.infer<typeof Turn>;

export const Session = z.object({
  id: z.string(),
  key: z.nullable(z.string()),
  title: z.string(),
  /** Absolute path of the main checkout. */
  repo: z.string(),
  /** Short name, without `refs/heads/`. */
  branch: z.string(),
  base: z.string(),
  worktree: z.string(),
  agent: z.string(),
  model: z.nullable(z.string()),
  mode: z.nullable(PermissionMode),
  state: DisplayState,
  reason: z.nullable(Reason),
  /** Number of what is asked, another for each need of the session; null when nothing is. An answer names it. */
  need: z._default(z.nullable(z.int()), null),
  /** Milliseconds since the epoch at which `state` began. */
  since: z.number(),
  facts: Facts,
  /** Id of the first session of those that came of one prompt, by attempts and forks: its own where it is alone. */
  family: z.string(),
  /** Place in its family, 1 for the first, also once others are archived; null where it is alone in it. */
  attempt: z._default(z.nullable(z.int()), null),
  parent: z.nullable(z.string()),
  forkTurn: z.nullable(z.int()),
  turns: z.int(),
  unread: z.boolean(),
  createdAt: z.number(),
  /** How the last turn ended, null before the first. */
  outcome: z.nullable(TurnOutcome),
  environment: z.object({
    exec: z.nullable(z.string()),
    ports: z.array(z.int()),
    url: z.nullable(z.string()),
  }),
  overlap: z.array(z.object({ session: z.string(), kind: z.string(), paths: z.array(z.string()) })),
  /** Id of the entry in the merge queue, while there is one that has not ended. */
  queue: z.nullable(z.string()),
  cost: Cost,
});
export type Session = z.infer<typeof Session>;
