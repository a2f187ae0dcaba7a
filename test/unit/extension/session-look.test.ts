import { describe, expect, it } from 'vitest';
import { descriptionOf, spokenOf } from '../../../extension/fleet/session-look.ts';
import { nameOf, shortNameOf } from '../../../extension/fleet/session-name.ts';
import { sessionOf } from './support/sessions.ts';

describe('what a screen reader says of a session', () => {
  it('tells what has not been looked at, as the dot does', () => {
    const finished = { id: 'one', title: 'Mend it', state: 'finished', outcome: 'done' } as const;
    expect(spokenOf(sessionOf({ ...finished, unread: true }), 0)).toMatch(
      /^Mend it, finished, not looked at yet, /,
    );
    expect(spokenOf(sessionOf({ ...finished, unread: false }), 0)).not.toContain('looked');
    expect(spokenOf(sessionOf({ id: 'one', state: 'working', unread: true }), 0)).not.toContain('looked');
  });
});

describe('attempts at one prompt', () => {
  it('are told apart wherever they are named, whatever their branches are called', () => {
    const third = sessionOf({
      id: 'three',
      title: 'Mend it',
      family: 'one',
      branch: 'other/name',
      attempt: 3,
    });
    expect([nameOf(third), shortNameOf(third)]).toEqual(['Mend it #3', 'Mend it #3']);
    expect(descriptionOf(third, 0)).toMatch(/^#3 · /);
    expect(spokenOf(third, 0)).toContain('attempt 3');
    expect(nameOf(sessionOf({ id: 'one', title: 'Mend it' }))).toBe('Mend it');
  });
});

describe('a title in a message', () => {
  it('leaves room for what happened, and does not end the sentence', () => {
    const title = 'Say in README.md how many words there are and commit it.';
    const short = shortNameOf({ title, attempt: 2 });
    expect(short).toBe('Say in README.md how many words there a… #2');
    expect(shortNameOf({ title: 'Commit it.', attempt: null })).toBe('Commit it');
    expect(shortNameOf({ title: 'Why?', attempt: null })).toBe('Why?');
  });
});
