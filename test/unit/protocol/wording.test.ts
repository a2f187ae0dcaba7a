import { expect, it } from 'vitest';
import { EntryReason, EntryState } from '../../../sidecar/protocol/entry.ts';
import { ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { DisplayState } from '../../../sidecar/protocol/session.ts';
import { entryWords, stateWords } from '../../../sidecar/protocol/wording.ts';

it('people read words, never the codes that scripts match on', () => {
  const said = [
    ...ReasonKind.options.map((kind) =>
      stateWords({ state: 'needs-you', reason: { kind, message: '' }, outcome: null }),
    ),
    ...DisplayState.options.map((state) => stateWords({ state, reason: null, outcome: 'done' })),
    ...EntryState.options.flatMap((state) =>
      [null, ...EntryReason.options].map((reason) => entryWords({ state, reason })),
    ),
  ];
  expect(said.filter((words) => words.includes('-') || /: *$|unknown|not known/.test(words))).toEqual([]);
  expect(entryWords({ state: 'failed', reason: 'red-check' })).toBe('failed: red check');
});

it('what a state says is not said again as its reason', () => {
  expect(entryWords({ state: 'nothing-to-land', reason: 'nothing-to-land' })).toBe('nothing to land');
  expect(entryWords({ state: 'cancelled', reason: 'cancelled' })).toBe('taken out');
});
