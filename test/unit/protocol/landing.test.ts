import { describe, expect, it } from 'vitest';
import { EntryState } from '../../../sidecar/protocol/entry.ts';
import { waitsForPerson } from '../../../sidecar/protocol/landing.ts';
import { ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { DisplayState } from '../../../sidecar/protocol/session.ts';

const needs = (kind: ReasonKind) =>
  ({ state: 'needs-you', reason: { kind, message: 'Something.' } }) as const;
const conflict = needs('conflict');
const resolving = { state: 'resolving', reason: conflict.reason } as const;

describe('what an entry waits for', () => {
  it('is the word of the person on a hand-back only once its session needs them', () => {
    const handedBack = { state: 'handed-back', reason: 'conflict', changedAt: 1 } as const;
    expect(waitsForPerson(handedBack, resolving)).toBeUndefined();
    expect(waitsForPerson(handedBack, conflict)).toBe('landing');
    expect(waitsForPerson(handedBack, needs('landing-stopped'))).toBe('landing');
    expect(waitsForPerson(handedBack, needs('permission'))).toBe('agent');
    // Landed again, it is answered once it is looked at.
    expect(waitsForPerson(handedBack, conflict, handedBack)).toBe('landing');
  });

  it('is a file in the way though the session needs nothing', () => {
    const waiting = { state: 'waiting', reason: 'folder-in-the-way', changedAt: 1 } as const;
    expect(waitsForPerson(waiting, { state: 'queued', reason: null })).toBe('landing');
    expect(
      waitsForPerson({ ...waiting, reason: 'offline' }, { state: 'queued', reason: null }),
    ).toBeUndefined();
  });

  it('is nothing while an entry that waited is tried anew', () => {
    const waiting = { state: 'waiting', reason: 'base-refuses-pushes', changedAt: 1 } as const;
    const refused = needs('base-refuses-pushes');
    expect(waitsForPerson(waiting, refused, { state: 'queued', changedAt: 1 })).toBe('landing');
    expect(waitsForPerson(waiting, refused, waiting)).toBeUndefined();
    expect(waitsForPerson({ ...waiting, changedAt: 2 }, refused, waiting)).toBe('landing');
  });

  it('is the person in no other state of an entry, and no other state of its session', () => {
    for (const state of EntryState.options) {
      if (state === 'waiting' || state === 'handed-back') continue;
      for (const kind of ReasonKind.options) {
        expect(waitsForPerson({ state, reason: null, changedAt: 1 }, needs(kind))).toBeUndefined();
      }
    }
    for (const state of DisplayState.options) {
      if (state === 'needs-you') continue;
      const entry = { state: 'handed-back', reason: 'conflict', changedAt: 1 } as const;
      expect(waitsForPerson(entry, { state, reason: conflict.reason })).toBeUndefined();
    }
  });
});
