import { describe, expect, it } from 'vitest';
import { descriptionOf, iconOf, spokenOf, tooltipOf } from '../../../extension/fleet/session-look.ts';
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

describe('a session whose agent was stopped', () => {
  const facts = { agent: 'finished', landing: 'none', life: 'sleeping' } as const;
  const stopped = sessionOf({ id: 'one', state: 'finished', outcome: 'done', facts });

  it('says that its agent sleeps, in the row, to a screen reader and in the tooltip', () => {
    expect(descriptionOf(stopped, 0)).toMatch(/^agent sleeps · /);
    expect(spokenOf(stopped, 0)).toContain('its agent sleeps');
    expect(tooltipOf(stopped, 0).value).toContain('its agent sleeps');
    expect(descriptionOf(sessionOf({ id: 'one', state: 'finished' }), 0)).not.toContain('sleeps');
  });

  it('has the icon of sleep once its work was looked at', () => {
    expect(iconOf(stopped).id).toBe('coffee');
    expect(iconOf({ ...stopped, unread: true }).id).toBe('check');
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
