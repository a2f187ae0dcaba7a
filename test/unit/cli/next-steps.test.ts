import { describe, expect, it } from 'vitest';
import { entrySentence } from '../../../sidecar/cli/entry-sentence.ts';
import { landingSteps, nextSteps } from '../../../sidecar/cli/next-steps.ts';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import { type Reason, ReasonKind } from '../../../sidecar/protocol/reason.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';

const SESSION: Session = {
  id: 'k3f9',
  key: null,
  title: 'Work',
  repo: '/r',
  branch: 'fairlead/work',
  base: 'main',
  worktree: '/w',
  agent: 'claude',
  model: null,
  mode: null,
  state: 'needs-you',
  reason: null,
  need: null,
  since: 0,
  facts: { agent: 'needs-you', landing: 'none', life: 'active' },
  family: 'k3f9',
  parent: null,
  forkTurn: null,
  turns: 1,
  unread: false,
  createdAt: 0,
  outcome: null,
  environment: { exec: null, ports: [], url: null },
  overlap: [],
  queue: null,
  cost: { ownUsd: 0, usd: 0, unpriced: 0 },
};

const ENTRY: QueueEntry = {
  id: 'e',
  session: 'k3f9',
  title: 'Work',
  repo: '/r',
  branch: 'fairlead/work',
  base: 'main',
  target: 'remote',
  remote: 'origin',
  method: 'merge',
  check: null,
  after: [],
  state: 'failed',
  reason: 'conflict',
  message: 'It conflicts with origin/main in a.txt.',
  paths: ['a.txt'],
  position: null,
  tries: 1,
  baseMoved: 0,
  head: null,
  landed: null,
  queuedAt: 0,
  changedAt: 0,
  endedAt: 0,
};

const steps = (reason: Reason, entry?: QueueEntry) => nextSteps({ ...SESSION, reason }, entry);
describe('what the person can do next', () => {
  it('for a prompt that an agent did not get before its end is to start it again', () => {
    const reason = { kind: 'prompt-undelivered', message: 'm' } as const;
    expect(nextSteps({ ...SESSION, reason })[0]).toContain('fairlead attach k3f9');
    const facts = { ...SESSION.facts, life: 'sleeping' } as const;
    expect(nextSteps({ ...SESSION, reason, facts })[0]).toContain('fairlead resume k3f9');
  });

  it('is told for every need, with a command that names the session', () => {
    for (const kind of ReasonKind.options) {
      for (const entry of [undefined, ENTRY]) {
        const told = steps({ kind, message: 'Something.' }, entry);
        expect([kind, told[0]]).toEqual([kind, expect.stringMatching(/: fairlead [a-z]+ k3f9\b/)]);
      }
    }
  });

  it('is to allow or deny, with a reason where the agent takes one', () => {
    expect(steps({ kind: 'permission', message: 'Bash: ls', tool: 'Bash' })).toEqual([
      'It takes allow, deny, or deny with a reason: fairlead answer k3f9 "deny: why"',
    ]);
    expect(steps({ kind: 'permission', message: 'Accept the mode?' })).toEqual([
      'It takes allow or deny: fairlead answer k3f9 allow',
    ]);
  });

  it('is to choose, in a word that is safe to paste whatever the agent wrote', () => {
    const asks = (...options: string[]) => steps({ kind: 'question', message: 'Which?', options });
    expect(asks('Deep blue', 'Red')[0]).toMatch(/: fairlead answer k3f9 "Deep blue"$/);
    expect(asks('$(touch x)')[0]).toMatch(/: fairlead answer k3f9 '\$\(touch x\)'$/);
    expect(asks('`touch x`')[0]).toMatch(/: fairlead answer k3f9 '`touch x`'$/);
    expect(asks("it's")[0]).toMatch(/: fairlead answer k3f9 'it'\\''s'$/);
  });

  it('is to give a line for each of several questions', () => {
    const which = { question: 'Which?', options: ['Red', 'Blue'], multiSelect: false };
    const asks = (...questions: (typeof which)[]) =>
      steps({ kind: 'question', message: 'Which?', options: which.options, questions })[0];
    expect(asks(which, which)).toContain('a line for each of its 2 questions');
    expect(asks({ ...which, multiSelect: true })).toContain('options parted by commas');
  });

  it('about a conflict is to have its agent merge the very base that it conflicts with', () => {
    expect(steps({ kind: 'conflict', message: 'It conflicts.' }, ENTRY)).toEqual([
      'Let its agent resolve it: fairlead send k3f9 "Merge origin/main into this branch and resolve the conflicts"',
      'Then land again: fairlead land k3f9',
    ]);
    expect(landingSteps({ ...ENTRY, remote: null })[0]).toContain('"Merge main into this branch');
    expect(landingSteps({ ...ENTRY, remote: null, base: 'a$(id)' })[0]).toContain("'Merge a$(id) into");
  });

  it('about a red base is to mend that', () => {
    const red = { ...ENTRY, state: 'waiting', reason: 'base-red', message: 'main itself is red.' } as const;
    expect(landingSteps(red).join('\n')).toMatch(/Mend main.*fairlead land k3f9.*fairlead unqueue k3f9/s);
  });
});

describe('how an entry stands', () => {
  it('names each path once', () => {
    expect(entrySentence(ENTRY)).toBe('failed: It conflicts with origin/main in a.txt.');
    expect(
      entrySentence({ ...ENTRY, message: 'It conflicts with origin/main in 2 files.', paths: ['a', 'b.c'] }),
    ).toBe('failed: It conflicts with origin/main in 2 files.\n  a\n  b.c');
  });

  it('is a sentence in every state', () => {
    expect(entrySentence({ ...ENTRY, state: 'cancelled', message: 'Taken out of the queue.' })).toBe(
      'was taken out of the queue.',
    );
    expect(entrySentence({ ...ENTRY, state: 'landed', landed: '0123456789abcdef', message: null })).toBe(
      'landed on origin/main as 0123456789.',
    );
    expect(entrySentence({ ...ENTRY, state: 'queued', message: null })).toBe('is queued.');
  });
});
