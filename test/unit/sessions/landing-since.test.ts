import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import { SessionHome } from './session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const STOPPED: Reason = { kind: 'landing-stopped', message: 'main itself is red.' };

describe('since when a session is what people see', () => {
  let home: SessionHome;
  let fleet: Fleet;
  beforeEach(() => {
    home = new SessionHome({ terminal: null, life: 'sleeping', agent_fact: 'finished' });
    fleet = new Fleet(
      home.context,
      new TerminalHost(() => Promise.reject(new Error('no terminal is needed')), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
  });
  afterEach(() => {
    fleet.stop();
    home[Symbol.dispose]();
  });
  const at = (time: number, landing: 'queued' | 'landing' | 'none', demand: Reason | null) => {
    home.clock.time = time;
    fleet.setLanding('s', landing, demand);
    const { state, since } = fleet.show('s');
    return [state, since];
  };

  it('stays through every attempt to land again while the person is needed for the same', () => {
    expect(at(2_000_000, 'queued', STOPPED)).toEqual(['needs-you', 2_000_000]);
    expect(at(3_000_000, 'landing', STOPPED)).toEqual(['needs-you', 2_000_000]);
    expect(at(3_000_100, 'queued', STOPPED)).toEqual(['needs-you', 2_000_000]);
  });

  it('begins anew with each step that shows, and with another need', () => {
    expect(at(2_000_000, 'queued', null)).toEqual(['queued', 2_000_000]);
    expect(at(3_000_000, 'landing', null)).toEqual(['landing', 3_000_000]);
    expect(at(4_000_000, 'queued', STOPPED)).toEqual(['needs-you', 4_000_000]);
    const other: Reason = { kind: 'conflict', message: 'It conflicts with main in a.txt.' };
    expect(at(5_000_000, 'none', other)).toEqual(['needs-you', 5_000_000]);
  });
});

describe('what an agent asks', () => {
  const ASKED: Reason = { kind: 'permission', message: 'Bash: ls', tool: 'Bash', options: ['allow', 'deny'] };

  it('outlives the landing that is asked for meanwhile, and what that needs', () => {
    using home = new SessionHome({ terminal: 't', life: 'active', agent_fact: 'needs-you', reason: ASKED });
    const fleet = new Fleet(
      home.context,
      new TerminalHost(() => Promise.reject(new Error('no terminal is needed')), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
    const asks = () => [fleet.show('s').state, fleet.show('s').reason?.message];
    fleet.setLanding('s', 'queued', null);
    expect(asks()).toEqual(['needs-you', 'Bash: ls']);
    fleet.setLanding('s', 'queued', STOPPED);
    expect(asks()).toEqual(['needs-you', 'Bash: ls']);
    fleet.setLanding('s', 'none', null);
    expect(asks()).toEqual(['needs-you', 'Bash: ls']);
    fleet.stop();
  });
});
