import { Session } from '../../../../sidecar/protocol/session.ts';

/** A session as the sidecar tells of it: idle and alone in `/repo`, but for what is given. */
export function sessionOf(given: Partial<Session> & { id: string }): Session {
  return Session.parse({
    key: null,
    title: `Session ${given.id}`,
    repo: '/repo',
    branch: `fairlead/${given.id}`,
    base: 'main',
    worktree: `/worktrees/${given.id}`,
    agent: 'claude',
    model: null,
    mode: null,
    state: 'idle',
    reason: null,
    need: null,
    since: 0,
    facts: { agent: 'idle', landing: 'none', life: 'active' },
    family: given.id,
    parent: null,
    forkTurn: null,
    turns: 0,
    unread: false,
    createdAt: 0,
    outcome: null,
    environment: { exec: null, ports: [], url: null },
    overlap: [],
    queue: null,
    cost: { ownUsd: 0, usd: 0, unpriced: 0 },
    ...given,
  });
}
