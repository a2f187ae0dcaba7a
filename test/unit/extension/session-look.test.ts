import { describe, expect, it } from 'vitest';
import { spokenOf } from '../../../extension/fleet/session-look.ts';
import { sessionOf } from './support/sessions.ts';

describe('what a screen reader says of a session', () => {
  it('tells what has not been looked at, as the dot does', () => {
    const finished = { id: 'one', title: 'Mend it', state: 'finished', outcome: 'done' } as const;
    expect(spokenOf(sessionOf({ ...finished, unread: true }), 0, undefined)).toMatch(
      /^Mend it, finished, not looked at yet, /,
    );
    expect(spokenOf(sessionOf({ ...finished, unread: false }), 0, undefined)).not.toContain('looked');
    expect(spokenOf(sessionOf({ id: 'one', state: 'working', unread: true }), 0, undefined)).not.toContain(
      'looked',
    );
  });
});
