import { describe, expect, it } from 'vitest';
import { entrySentence } from '../../../sidecar/cli/entry-sentence.ts';
import {
  afterWaiting,
  landingSteps,
  nextSteps,
  onwardSteps,
  stepsBefore,
} from '../../../sidecar/cli/next-steps.ts';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import { type Reason, ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { DisplayState, type Session } from '../../../sidecar/protocol/session.ts';

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
  attempt: null,
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
  handBack: null,
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
    const allowOrDeny = ['Allow it: fairlead answer k3f9 allow', 'Or deny it: fairlead answer k3f9 deny'];
    expect(steps({ kind: 'permission', message: 'Bash: ls', tool: 'Bash' })).toEqual([
      ...allowOrDeny,
      'Or say why not: fairlead answer k3f9 "deny: <why>"',
    ]);
    expect(steps({ kind: 'permission', message: 'Accept the mode?' })).toEqual(allowOrDeny);
    expect(steps({ kind: 'plan', message: 'Ready to code?' })).toEqual(allowOrDeny);
    expect(steps({ kind: 'plan', message: 'A plan.', tool: 'ExitPlanMode', input: {} })).toEqual(allowOrDeny);
    expect(steps({ kind: 'plan', message: 'A plan.', tool: 'ExitPlanMode', input: { plan: 'x' } })).toEqual([
      ...allowOrDeny,
      'Or say why not: fairlead answer k3f9 "deny: <why>"',
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

  it('about a conflict of an archived session is to have another take its branch over', () => {
    const archived = { life: 'archived' } as const;
    expect(landingSteps(ENTRY, archived)).toEqual([
      expect.stringMatching(
        /: fairlead new --base main "Merge fairlead\/work into this branch and resolve the conflicts"$/,
      ),
    ]);
    const red = { ...ENTRY, reason: 'red-check', check: 'npm test' } as const;
    expect(landingSteps(red, archived)[0]).toContain('and make this succeed: npm test"');
    expect(landingSteps({ ...ENTRY, branch: 'a$(id)' }, archived)[0]).toContain("'Merge a$(id) into");
  });

  it('about a conflict that its agent has is to wait, or to judge what it made of it', () => {
    const handBack = { phase: 'asked', try: 1, maxTries: 2, base: 'b' } as const;
    const entry = { ...ENTRY, state: 'handed-back', endedAt: null, handBack } as const;
    expect(landingSteps(entry)).toEqual([
      'It lands by itself once its agent has resolved the conflict.',
      'Look at it: fairlead attach k3f9',
      'To take it out of the queue: fairlead unqueue k3f9',
    ]);
    const judged = { ...entry, handBack: { ...handBack, phase: 'needs-you' } } as const;
    expect(steps({ kind: 'conflict', message: 'It dropped something.' }, judged)).toEqual([
      'See what its agent made of it: fairlead diff k3f9',
      'Tell it what is missing: fairlead send k3f9 "<prompt>"',
      'Or land again: fairlead land k3f9',
      'To take it out of the queue: fairlead unqueue k3f9',
    ]);
    const blocked = { ...entry, handBack: { ...handBack, phase: 'preparing' } } as const;
    expect(landingSteps(blocked)[0]).toMatch(/: fairlead land k3f9$/);
  });

  it('of an entry behind others is to land those', () => {
    const entry = { ...ENTRY, state: 'waiting', reason: 'after', after: ['m2p4', 'q7x1'] } as const;
    const behind = { ...entry, after: [...entry.after] };
    expect(landingSteps(behind)).toEqual([
      expect.stringMatching(/: fairlead land m2p4$/),
      expect.stringMatching(/: fairlead land q7x1$/),
      expect.stringMatching(/: fairlead unqueue k3f9$/),
    ]);
    const of = (session: string, state: QueueEntry['state']) => ({ ...ENTRY, session, state });
    expect(stepsBefore(behind, [])).toHaveLength(2);
    expect(stepsBefore(behind, [of('m2p4', 'queued'), of('q7x1', 'failed')])).toEqual([
      expect.stringMatching(/^q7x1 .*: fairlead land q7x1$/),
    ]);
    expect(stepsBefore(behind, [of('m2p4', 'landed'), of('q7x1', 'nothing-to-land')])).toEqual([]);
  });

  it('about a red base is to mend that', () => {
    const red = { ...ENTRY, state: 'waiting', reason: 'base-red', message: 'main itself is red.' } as const;
    expect(landingSteps(red).join('\n')).toMatch(/Mend main.*fairlead land k3f9.*fairlead unqueue k3f9/s);
  });
});

describe('what the person can do with a session that asks nothing', () => {
  const commands = (state: DisplayState, more: Partial<Session> = {}) =>
    onwardSteps({ ...SESSION, state, ...more }).map((step) => /: (fairlead .*)$/.exec(step)?.[1]);

  it('is a command for every state in which there is something to do', () => {
    expect(commands('finished')).toEqual([
      'fairlead diff k3f9',
      'fairlead land k3f9',
      'fairlead send k3f9 "<prompt>"',
    ]);
    expect(commands('landed')).toEqual(['fairlead diff k3f9', 'fairlead archive k3f9']);
    expect(commands('sleeping')).toEqual(['fairlead resume k3f9', 'fairlead send k3f9 "<prompt>"']);
    expect(commands('sleeping', { turns: 0 })).toEqual([
      'fairlead send k3f9 "<prompt>"',
      'fairlead resume k3f9',
    ]);
    expect(commands('idle')).toEqual(['fairlead send k3f9 "<prompt>"']);
    expect(commands('working')).toEqual(['fairlead attach k3f9']);
    expect(commands('queued')).toEqual(['fairlead queue']);
    expect(commands('archived')).toEqual(['fairlead land k3f9']);
    const landed = { ...SESSION.facts, landing: 'landed' } as const;
    expect(commands('archived', { facts: landed })).toEqual([]);
    for (const state of DisplayState.options) expect(commands(state)).not.toContain(undefined);
  });

  it('after waiting in vain says what is so', () => {
    const told = (state: DisplayState) => afterWaiting({ ...SESSION, state }, 'needs-you');
    expect(told('needs-you')).toContain('what it waits for: fairlead show k3f9');
    expect(told('working')).toContain('It goes on. Wait again: fairlead wait k3f9 --for needs-you');
    for (const state of ['finished', 'idle', 'sleeping', 'landed', 'archived'] as const) {
      expect(told(state)).toContain('waits for nothing');
    }
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
    const note = 'Taken out of the queue. The merge of main stays open in its worktree.';
    expect(entrySentence({ ...ENTRY, state: 'cancelled', message: note })).toBe(
      'was taken out of the queue. The merge of main stays open in its worktree.',
    );
    expect(entrySentence({ ...ENTRY, state: 'handed-back', message: 'In a.', paths: ['a', 'b'] })).toBe(
      'is handed back: In a.\n  b',
    );
    expect(entrySentence({ ...ENTRY, state: 'cancelled', message: 'Taken out of the queue.' })).toBe(
      'was taken out of the queue.',
    );
    expect(entrySentence({ ...ENTRY, state: 'landed', landed: '0123456789abcdef', message: null })).toBe(
      'landed on origin/main as 0123456789.',
    );
    expect(entrySentence({ ...ENTRY, state: 'queued', message: null })).toBe('is queued.');
  });
});
