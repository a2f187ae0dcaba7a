import { expect, it } from 'vitest';
import { withNearGuesses } from '../../../sidecar/cli/program.ts';

it('only what could have been meant is guessed', () => {
  const guess = (given: string, guesses: string) =>
    withNearGuesses(`unknown command '${given}'\n(Did you mean ${guesses}?)`);
  expect(guess('bogus', 'logs')).toBe("unknown command 'bogus'");
  expect(guess('shwo', 'show')).toBe("unknown command 'shwo'. Did you mean show?");
  expect(guess('hsow', 'show')).toContain('Did you mean show?');
  expect(guess('lags', 'one of logs, tags, land')).toContain('Did you mean one of logs, land?');
  expect(withNearGuesses("unknown option '--jsno'\n(Did you mean --json?)")).toContain('--json?');
  expect(withNearGuesses('too many arguments.')).toBe('too many arguments.');
});
