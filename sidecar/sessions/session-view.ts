import { answersTo } from '../protocol/answers.ts';
import type { Reason } from '../protocol/reason.ts';
import type { Cost, DisplayState, Facts, Session } from '../protocol/session.ts';
import { display } from './display.ts';
import type { SessionRecord } from './record.ts';

/** What is known of a session beside its record. */
export interface SessionSurroundings {
  /** Main checkout, absolute. */
  repo: string;
  /** Place in its family; null where it is alone in it. */
  attempt: number | null;
  turns: number;
  cost: Cost;
  /** Entry of the merge queue that has not ended. */
  queue: string | null;
  /** How its last entry of the merge queue stands, in words; null when it never had one. */
  lastLanding: string | null;
}

export function factsOf(record: SessionRecord): Facts {
  return { agent: record.agent_fact, landing: record.landing, life: record.life };
}

/** With what can be answered, and with paths as they are below the worktree: the folder above them is in the view. */
function asShown({ reason, worktree }: SessionRecord): Reason | null {
  if (reason === null) return null;
  const options = answersTo(reason);
  const message = reason.message.replaceAll(`${worktree}/`, '');
  return { ...reason, message, ...(options === undefined ? {} : { options }) };
}

/** What the person is needed for; while the agent resolves a conflict, which one it is. */
function reasonOf(record: SessionRecord, state: DisplayState, lastLanding: string | null): Reason | null {
  if (state === 'needs-you') return asShown(record);
  if (state !== 'resolving' || lastLanding === null) return null;
  return { kind: 'conflict', message: lastLanding };
}

/** The session as clients get it. Pure. */
export function sessionView(record: SessionRecord, surroundings: SessionSurroundings): Session {
  const facts = factsOf(record);
  const state = display(facts);
  return {
    id: record.id,
    key: record.key,
    title: record.title,
    repo: surroundings.repo,
    branch: record.branch,
    base: record.base,
    worktree: record.worktree,
    agent: record.agent,
    model: record.model,
    mode: record.mode,
    state,
    reason: reasonOf(record, state, surroundings.lastLanding),
    need: state === 'needs-you' && record.reason !== null ? record.need : null,
    since: record.since,
    facts,
    family: record.family,
    attempt: surroundings.attempt,
    parent: record.parent,
    forkTurn: record.fork_turn,
    turns: surroundings.turns,
    unread: record.unread,
    createdAt: record.created_at,
    outcome: record.outcome,
    environment: { exec: null, ports: [], url: null },
    overlap: [],
    queue: surroundings.queue,
    cost: surroundings.cost,
  };
}
