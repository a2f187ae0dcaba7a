import { describe, expect, it } from 'vitest';
import type { Resolution } from '../../../sidecar/git/resolution.ts';
import {
  decide,
  type Evidence,
  judge,
  MAX_TRIES,
  type NextMove,
  type Standing,
  type Verdict,
} from '../../../sidecar/queue/hand-back-verdict.ts';

const SOUND: Resolution = {
  hasBase: true,
  hasTip: true,
  markers: [],
  lost: [],
  contested: ['a', 'b'],
  own: ['b'],
};
const DONE: Evidence = {
  result: 'r',
  misplaced: undefined,
  isMergeOpen: false,
  uncommitted: [],
  resolution: SOUND,
};
const withResolution = (more: Partial<Resolution>): Evidence => ({
  ...DONE,
  resolution: { ...SOUND, ...more },
});

describe('what a resolution is worth', () => {
  it.each<[string, Evidence, Verdict]>([
    ['is resolved when both sides are in it', DONE, { kind: 'resolved', result: 'r' }],
    [
      'is resolved when nothing that conflicted was changed by the base as a file',
      withResolution({ contested: [], own: [] }),
      { kind: 'resolved', result: 'r' },
    ],
    [
      'drops something when every file in conflict is as the branch had it',
      withResolution({ own: ['a', 'b'] }),
      { kind: 'dropped', how: 'own-side', result: 'r', paths: ['a', 'b'] },
    ],
    [
      'drops something when what had merged by itself is as the branch had it',
      withResolution({ lost: ['c'] }),
      { kind: 'dropped', how: 'lost', result: 'r', paths: ['c'] },
    ],
    ['has no branch', { ...DONE, result: undefined, resolution: undefined }, { kind: 'branch-missing' }],
    ['has rewritten the branch', withResolution({ hasTip: false }), { kind: 'rewritten' }],
    [
      'has rewritten the branch, whatever else is open',
      { ...withResolution({ hasTip: false, hasBase: false }), isMergeOpen: true },
      { kind: 'rewritten' },
    ],
    [
      'is not finished while the merge is open',
      { ...withResolution({ hasBase: false }), isMergeOpen: true, uncommitted: ['a'] },
      { kind: 'unfinished', missing: { kind: 'not-committed', paths: ['a'] } },
    ],
    [
      'is not finished while another merge is open',
      { ...DONE, isMergeOpen: true },
      { kind: 'unfinished', missing: { kind: 'not-committed', paths: [] } },
    ],
    [
      'is not finished when the merge was given up',
      withResolution({ hasBase: false }),
      { kind: 'unfinished', missing: { kind: 'given-up' } },
    ],
    [
      'is not finished with markers in it',
      withResolution({ markers: ['a'], own: ['a', 'b'] }),
      { kind: 'unfinished', missing: { kind: 'markers', paths: ['a'] } },
    ],
    [
      'is not finished with changes left over',
      { ...DONE, uncommitted: ['a'] },
      { kind: 'unfinished', missing: { kind: 'left-over', paths: ['a'] } },
    ],
    [
      'is not finished elsewhere',
      { ...DONE, misplaced: 'It is elsewhere.' },
      { kind: 'unfinished', missing: { kind: 'misplaced', sentence: 'It is elsewhere.' } },
    ],
  ])('%s', (_name, evidence, verdict) => {
    expect(judge(evidence)).toEqual(verdict);
  });
});

const TURNS = ['none', 'done', 'cut-off'] as const;
const OPEN: Verdict = { kind: 'unfinished', missing: { kind: 'not-committed', paths: ['a'] } };
const GIVEN_UP: Verdict = { kind: 'unfinished', missing: { kind: 'given-up' } };
const DROPPED: Verdict = { kind: 'dropped', how: 'own-side', result: 'r', paths: ['a'] };
const VERDICTS: Verdict[] = [
  { kind: 'resolved', result: 'r' },
  { kind: 'branch-missing' },
  { kind: 'rewritten' },
  OPEN,
  GIVEN_UP,
  DROPPED,
];
const STANDINGS: Standing[] = TURNS.flatMap((turn) =>
  [1, 2, 3].flatMap((attempt) =>
    [null, 'r', 'x'].map((accepted): Standing => ({ try: attempt, turn, accepted })),
  ),
);
const everywhere = (verdicts: Verdict[], standings: Standing[]): NextMove[] =>
  verdicts.flatMap((verdict) => standings.map((standing) => decide(verdict, standing)));

describe('what follows from it', () => {
  it('is to land what is resolved, whoever did it and however the turn ended', () => {
    expect(
      new Set(everywhere([{ kind: 'resolved', result: 'r' }], STANDINGS).map(({ kind }) => kind)),
    ).toEqual(new Set(['land']));
  });

  it('is to land what drops something only when the person took that very commit', () => {
    for (const standing of STANDINGS) {
      const { kind } = decide(DROPPED, standing);
      expect([standing, kind === 'land']).toEqual([standing, standing.accepted === 'r']);
      // Of another commit than the one that they took the person is asked anew.
      const isAsked = standing.turn !== 'none' || standing.accepted !== null;
      if (kind !== 'land') expect([standing, kind]).toEqual([standing, isAsked ? 'ask-person' : 'wait']);
    }
  });

  it('asks the agent again after a turn of its own only, and never more often than it may', () => {
    for (const verdict of [OPEN, GIVEN_UP]) {
      for (const standing of STANDINGS) {
        const move = decide(verdict, standing);
        const wanted =
          standing.turn === 'none'
            ? 'wait'
            : standing.turn === 'cut-off'
              ? 'ask-person'
              : standing.try < MAX_TRIES
                ? 'ask-again'
                : 'fail';
        expect([standing, move.kind]).toEqual([standing, wanted]);
        if (move.kind === 'ask-again') expect(move.anew).toBe(verdict === GIVEN_UP);
      }
    }
  });

  it('without a turn is nothing that anybody is asked', () => {
    const moves = everywhere(
      VERDICTS.filter(({ kind }) => kind !== 'branch-missing'),
      STANDINGS.filter(({ turn, accepted }) => turn === 'none' && accepted === null),
    );
    expect(new Set(moves.map(({ kind }) => kind))).toEqual(new Set(['land', 'wait']));
  });

  it('names why it fails', () => {
    const standing: Standing = { try: MAX_TRIES, turn: 'done', accepted: null };
    expect(decide({ kind: 'branch-missing' }, standing)).toEqual({ kind: 'fail', why: 'branch-missing' });
    expect(decide({ kind: 'rewritten' }, standing)).toEqual({ kind: 'fail', why: 'rewritten' });
    expect(decide(OPEN, standing)).toEqual({ kind: 'fail', why: 'tries' });
  });
});
