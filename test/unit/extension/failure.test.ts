import { expect, it } from 'vitest';
import { ExtensionError, failureOf, wordsOf } from '../../../extension/connection/failure.ts';

it('a failure is told with where it is and what to do next', () => {
  const hint = 'Commit them.';
  expect(wordsOf(new ExtensionError('land.uncommitted', 'Not committed.', { hint, data: ['a', 'b'] }))).toBe(
    'Not committed. (a, b) Commit them.',
  );
  expect(wordsOf(new ExtensionError('git.no-identity', 'Who are you?', { hint: 'Set it: git config' }))).toBe(
    'Who are you? Set it: git config',
  );
  expect(wordsOf(failureOf(new Error('It broke.')))).toBe('It broke.');
  const paths = Array.from({ length: 20 }, (_, at) => `f${at}`);
  expect(wordsOf(new ExtensionError('x', 'Many.', { data: { paths } }))).toBe(
    'Many. (f0, f1, f2, f3, f4, f5, f6, f7)',
  );
});
