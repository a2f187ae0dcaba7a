import { Reason } from '../protocol/reason.ts';
import { AgentFact, LandingFact, LifeFact, PermissionMode, TurnOutcome } from '../protocol/session.ts';
import * as z from '../protocol/zod.ts';

const Flag = z.pipe(
  z.number(),
  z.transform((value) => value !== 0),
);
const Json = z.pipe(
  z.string(),
  z.transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.issues.push({ code: 'custom', message: 'not JSON', input: text });
      return z.NEVER;
    }
  }),
);

/** A session as the store has it: decisions and facts, nothing derived. */
export const SessionRecord = z.object({
  id: z.string(),
  key: z.nullable(z.string()),
  title: z.string(),
  repository: z.string(),
  branch: z.string(),
  base: z.string(),
  base_commit: z.string(),
  remote: z.nullable(z.string()),
  worktree: z.string(),
  /** Absolute; known once the worktree was made. */
  git_dir: z.nullable(z.string()),
  /** The agent's folder below the worktree's root, without a trailing slash; empty for the root. */
  folder: z.string(),
  agent: z.string(),
  model: z.nullable(z.string()),
  mode: z.nullable(PermissionMode),
  environment: z.string(),
  bring_changes: Flag,
  /** The client's id of the request that made it, and perhaps others with it. */
  request: z.nullable(z.string()),
  /** Whether somebody wants its agent to run once the worktree is made. */
  starts: Flag,
  /** The ptyhost's id of the agent's terminal: chosen before the terminal is made. */
  terminal: z.nullable(z.string()),
  shell: z.nullable(z.string()),
  agent_fact: AgentFact,
  landing: LandingFact,
  life: LifeFact,
  reason: z.nullable(z.pipe(Json, Reason)),
  /** What the person is needed for beside what the agent signals: a conflict, a prompt that did not arrive. */
  demand: z.nullable(z.pipe(Json, Reason)),
  /** Counts what the person was needed for. */
  need: z.number(),
  outcome: z.nullable(TurnOutcome),
  since: z.number(),
  unread: Flag,
  /** Id of the first session of those that came of one prompt, by attempts and forks: its own where it is alone. */
  family: z.string(),
  parent: z.nullable(z.string()),
  fork_turn: z.nullable(z.number()),
  created_at: z.number(),
  changed_at: z.number(),
  archived_at: z.nullable(z.number()),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

export const RepositoryRecord = z.object({
  id: z.string(),
  common_dir: z.string(),
  main: z.string(),
  land_to: z.nullable(z.enum(['local', 'remote'])),
  created_at: z.number(),
});
export type RepositoryRecord = z.infer<typeof RepositoryRecord>;

export const PromptRecord = z.object({
  id: z.string(),
  session: z.string(),
  text: z.string(),
  state: z.enum(['waiting', 'sent', 'confirmed', 'failed']),
  via: z.enum(['launch', 'paste']),
  tries: z.number(),
  created_at: z.number(),
  sent_at: z.nullable(z.number()),
  confirmed_at: z.nullable(z.number()),
  /** The client's id of the request that it came with. */
  request: z.nullable(z.string()),
});
export type PromptRecord = z.infer<typeof PromptRecord>;

export const TurnRecord = z.object({
  session: z.string(),
  n: z.number(),
  agent_session: z.string(),
  /** Name of the hook event that opened the turn: a turn is counted once however often the event comes. */
  event: z.string(),
  prompt: z.string(),
  answer: z.nullable(z.string()),
  outcome: TurnOutcome,
  started_at: z.number(),
  ended_at: z.nullable(z.number()),
});
export type TurnRecord = z.infer<typeof TurnRecord>;

/** What was said to the agent in a turn that ran already. */
export const TurnMessageRecord = z.object({
  session: z.string(),
  n: z.number(),
  event: z.string(),
  text: z.string(),
  at: z.number(),
});
export type TurnMessageRecord = z.infer<typeof TurnMessageRecord>;

export const AgentSessionRecord = z.object({
  session: z.string(),
  ordinal: z.number(),
  id: z.string(),
  transcript: z.nullable(z.string()),
  started_at: z.number(),
});
export type AgentSessionRecord = z.infer<typeof AgentSessionRecord>;
