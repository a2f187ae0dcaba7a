import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fleetOrder } from '../../../sidecar/protocol/fleet-order.ts';
import {
  AgentFact,
  type DisplayState,
  type Facts,
  LandingFact,
  LifeFact,
} from '../../../sidecar/protocol/session.ts';
import { display } from '../../../sidecar/sessions/display.ts';

const AllFacts = fc.record({
  agent: fc.constantFrom(...AgentFact.options),
  landing: fc.constantFrom(...LandingFact.options),
  life: fc.constantFrom(...LifeFact.options),
});

/** States from what outranks to what is outranked, each with the facts that call for it. */
const PRECEDENCE: [DisplayState, (facts: Facts) => boolean][] = [
  ['archived', ({ life }) => life === 'archived'],
  ['paused', ({ life }) => life === 'paused'],
  // A session that cannot start without the person says so.
  ['needs-you', ({ agent }) => agent === 'needs-you'],
  ['starting', ({ life }) => life === 'starting'],
  ['resolving', ({ landing }) => landing === 'resolving'],
  ['working', ({ agent }) => agent === 'working'],
  ['in-review', ({ landing }) => landing === 'in-review'],
  ['ready', ({ landing }) => landing === 'ready'],
  ['queued', ({ landing }) => landing === 'queued'],
  ['landing', ({ landing }) => landing === 'landing'],
  ['landed', ({ landing }) => landing === 'landed'],
  ['finished', ({ agent }) => agent === 'finished'],
  ['idle', ({ agent, life }) => agent === 'idle' && life === 'active'],
  ['sleeping', () => true],
];

describe('the state that people see', () => {
  it('is the first in the order of precedence that the facts call for', () => {
    fc.assert(
      fc.property(AllFacts, (facts) => {
        expect(display(facts)).toBe(PRECEDENCE.find(([, fits]) => fits(facts))?.[0]);
      }),
    );
  });
});

describe('the order of the fleet', () => {
  const session = (id: string, state: DisplayState, since: number, unread = true) => ({
    id,
    state,
    since,
    unread,
  });

  it('puts what needs the person first, oldest first, and then the rest by state, newest first', () => {
    const fleet = [
      session('a', 'sleeping', 9),
      session('b', 'finished', 9, false),
      session('c', 'starting', 1),
      session('d', 'landing', 3),
      session('e', 'queued', 4),
      session('f', 'working', 1),
      session('g', 'resolving', 1),
      session('h', 'in-review', 1),
      session('i', 'ready', 1),
      session('j', 'idle', 1),
      session('k', 'finished', 1),
      session('l', 'finished', 2),
      session('m', 'needs-you', 2),
      session('n', 'needs-you', 1),
    ];
    expect(
      fleet
        .toSorted(fleetOrder)
        .map(({ id }) => id)
        .join(''),
    ).toBe('nmlkjihgfedcab');
  });

  it('is total', () => {
    const Any = fc.record({
      id: fc.string({ maxLength: 2 }),
      state: fc.constantFrom<DisplayState>('needs-you', 'finished', 'working', 'sleeping'),
      since: fc.integer({ min: 0, max: 3 }),
      unread: fc.boolean(),
    });
    fc.assert(
      fc.property(Any, Any, Any, (a, b, c) => {
        expect(Math.sign(fleetOrder(a, b)) + Math.sign(fleetOrder(b, a))).toBe(0);
        if (fleetOrder(a, b) === 0) expect(a.id).toBe(b.id);
        if (fleetOrder(a, b) <= 0 && fleetOrder(b, c) <= 0) expect(fleetOrder(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
