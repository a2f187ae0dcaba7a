import * as z from 'zod';
import { Reason } from '../protocol/reason.ts';
import { AgentFact, LandingFact, LifeFact, PermissionMode, TurnOutcome } from '../protocol/session.ts';

const Flag = z.number().transform((value) => value !== 0);
const Json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('not JSON');
    return z.NEVER;
  }
});

/** A session as the store has it: decisions and facts, nothing derived. */
export const SessionRecord = z.object({
  id: z.string(),
  key: z.string().nullable(),
  title: z.string(),
  repository: z.string(),
  branch: z.string(),
  base: z.string(),
  base_commit: z.string(),
  remote: z.string().nullable(),
  worktree: z.string(),
  /** Absolute; known once the worktree was made. */
  git_dir: z.string().nullable(),
  /** The agent's folder below the worktree's root, without a trailing slash; empty for the root. */
  folder: z.string(),
  agent: z.string(),
  model: z.string().nullable(),
  mode: PermissionMode.nullable(),
  environment: z.string(),
  bring_changes: Flag,
  /** The client's id of the request that made it, and perhaps others with it. */
  request: z.string().nullable(),
  /** Whether somebody wants its agent to run once the worktree is made. */
  starts: Flag,
  /** The ptyhost's id of the agent's terminal: chosen before the terminal is made. */
  terminal: z.string().nullable(),
  shell: z.string().nullable(),
  agent_fact: AgentFact,
  landing: LandingFact,
  life: LifeFact,
  reason: Json.pipe(Reason).nullable(),
  /** What the person is needed for beside what the agent signals: a conflict, a prompt that did not arrive. */
  demand: Json.pipe(Reason).nullable(),
  /** Counts what the person was needed for. */
  need: z.number(),
  outcome: TurnOutcome.nullable(),
  since: z.number(),
  unread: Flag,
  /** Id of the first session of those that came of one prompt, by attempts and forks: its own where it is alone. */
  family: z.string(),
  parent: z.string().nullable(),
  fork_turn: z.number().nullable(),
  created_at: z.number(),
  changed_at: z.number(),
  archived_at: z.number().nullable(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

export const RepositoryRecord = z.object({
  id: z.string(),
  common_dir: z.string(),
  main: z.string(),
  land_to: z.enum(['local', 'remote']).nullable(),
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
  sent_at: z.number().nullable(),
  confirmed_at: z.number().nullable(),
  /** The client's id of the request that it came with. */
  request: z.string().nullable(),
});
export type PromptRecord = z.infer<typeof PromptRecord>;

export const TurnRecord = z.object({
  session: z.string(),
  n: z.number(),
  agent_session: z.string(),
  /** Name of the hook event that opened the turn: a turn is counted once however often the event comes. */
  event: z.string(),
  prompt: z.string(),
  answer: z.string().nullable(),
  outcome: TurnOutcome,
  started_at: z.number(),
  ended_at: z.number().nullable(),
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
  transcript: z.string().nullable(),
  started_at: z.number(),
});
export type AgentSessionRecord = z.infer<typeof AgentSessionRecord>;
