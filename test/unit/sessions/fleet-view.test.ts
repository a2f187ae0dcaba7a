import { describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { FleetView } from '../../../sidecar/sessions/fleet-view.ts';
import { SessionHome } from './session-home.ts';

/** A fleet of one session, whose changes are noted. */
class Seen extends SessionHome {
  readonly changed: string[] = [];
  readonly view = new FleetView(this.context, Ledger.open(this.store, pricesWith()), {
    queueEntry: () => null,
    lastLanding: () => null,
    changed: ({ title }) => this.changed.push(title),
  });
  #due: (() => void) | undefined;

  constructor() {
    super();
    this.clock.after = (_ms?: number, work?: () => void) => {
      this.#due = work;
      return () => {};
    };
  }

  timeOut(): void {
    this.#due?.();
  }
}

describe('waiting for a session', () => {
  it('fails when the session goes away, and disturbs nobody else', async () => {
    using seen = new Seen();
    const gone = seen.view.until(() => seen.view.show('s').state === 'working', {});
    const other = seen.view.until(() => seen.table.find('s') === undefined, {});
    seen.table.remove('s');
    expect(() => seen.view.announce('s')).not.toThrow();
    await expect(gone).rejects.toMatchObject({ code: 'session.missing' });
    expect(await other).toBe(true);
    expect(() => seen.view.announce('s')).not.toThrow();
  });

  it('fails at its time-out when the session has gone away unheard', async () => {
    using seen = new Seen();
    const gone = seen.view.until(() => seen.view.show('s').state === 'working', { timeoutMs: 1 });
    seen.table.remove('s');
    seen.timeOut();
    await expect(gone).rejects.toMatchObject({ code: 'session.missing' });
  });

  it('gives false at its time-out', async () => {
    using seen = new Seen();
    const waiting = seen.view.until(() => false, { timeoutMs: 1 });
    seen.timeOut();
    expect(await waiting).toBe(false);
  });
});

describe('what is told inside a transaction', () => {
  const event = { kind: 'session-changed', session: 's', state: null, entry: null, message: 'm' } as const;

  it('is told once that is done', () => {
    using seen = new Seen();
    const heard: string[] = [];
    seen.context.events.listen(({ message }) => heard.push(message));
    seen.table.transaction(() => {
      seen.context.events.add(event);
      seen.view.announce('s');
      seen.table.update('s', { title: 'As it came to be' });
      expect([...heard, ...seen.changed]).toEqual([]);
    });
    expect([...heard, ...seen.changed]).toEqual(['m', 'As it came to be']);
  });

  it('is told to nobody when that is rolled back', () => {
    using seen = new Seen();
    const heard: string[] = [];
    seen.context.events.listen(({ message }) => heard.push(message));
    expect(() =>
      seen.table.transaction(() => {
        seen.context.events.add(event);
        seen.view.announce('s');
        throw new Error('no');
      }),
    ).toThrow('no');
    seen.table.transaction(() => {});
    expect([...heard, ...seen.changed]).toEqual([]);
  });
});
