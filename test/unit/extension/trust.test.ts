import { beforeEach, describe, expect, it } from 'vitest';
import { EventEmitter } from 'vscode';
import { COMMANDS, perform, registerCommands } from '../../../extension/commands.ts';
import type { Context } from '../../../extension/context.ts';
import type { Fleet, FleetChange } from '../../../extension/fleet/fleet.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { NeedsInHand } from '../../../extension/fleet/needs-in-hand.ts';
import { SessionTerminals } from '../../../extension/terminals/session-terminals.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { part } from '../../support/part.ts';
import { sessionOf } from './support/sessions.ts';

const window = new FakeWindow();
const asking = sessionOf({
  id: 's1',
  title: 'Fix it',
  branch: 'fairlead/fix-it',
  state: 'needs-you',
  need: 1,
  reason: { kind: 'permission', tool: 'Bash', message: 'Bash: rm it', input: { command: 'rm it' } },
  facts: { agent: 'needs-you', landing: 'none', life: 'active' },
});

/** Of the context what the commands under test use, with what was asked of the sidecar. */
function contextOf(session: Session) {
  const sent: [name: string, params: unknown][] = [];
  const context = part<Context>({
    connection: {
      start: async () => {},
      request: async (name: string, params: unknown) => {
        sent.push([name, params]);
        return name === 'ShowNeed'
          ? { need: session.need, reason: { ...session.reason, input: {} } }
          : session;
      },
    },
    fleet: { isLoaded: true, get: () => session, sessions: [session], load: async () => {} },
    terminals: { active: session.id, show: () => {}, close: () => {} },
    lastUsed: new LastUsed(),
    needsInHand: new NeedsInHand(),
    repositories: { all: [session.repo], isKnown: true, findAgain: async () => {} },
    extension: {
      extension: {
        packageJSON: { contributes: { commands: [{ command: 'fairlead.allow', title: 'Allow…' }] } },
      },
    },
  });
  return { context, sent };
}

/** What runs nothing of a repository, and types nothing to an agent. Any other command is one that needs trust. */
const RUNS_WITHOUT_TRUST = [
  'showFleet',
  'doctor',
  'showLog',
  'showSidecarLog',
  'retry',
  'restartSidecar',
  'refresh',
  'showConversation',
  'interrupt',
  'stop',
  'unqueue',
  'rename',
  'copyBranch',
  'copyWorktree',
].map((name) => `fairlead.${name}`);

const fail = (error: unknown) => {
  throw error;
};

beforeEach(() => {
  window.isTrusted = true;
  window.pick = () => undefined;
  window.said.length = 0;
  window.asked.length = 0;
  window.terminals.length = 0;
});

describe('in Restricted Mode', () => {
  it('a command does the same from a notification as from a menu: what needs trust asks for it', async () => {
    window.isTrusted = false;
    const { context, sent } = contextOf(asking);
    registerCommands(context, fail);
    const needing = Object.entries(COMMANDS).filter(([id]) => !RUNS_WITHOUT_TRUST.includes(id));
    for (const [id, { kind }] of needing) {
      await window.run(id, { kind: 'session', id: 's1', need: 1 });
      if (kind === 'session') await perform(context, id as 'fairlead.land', asking, fail);
    }
    expect(sent).toEqual([]);
    expect(window.asked).toEqual([]);
    const times = needing.reduce((sum, [, { kind }]) => sum + (kind === 'session' ? 2 : 1), 0);
    expect(window.said).toEqual(
      Array(times).fill('Agents run the code of this repository. Trust the workspace first.'),
    );
  });

  it('terminals that were open are there again once the workspace is trusted, not before', () => {
    window.isTrusted = false;
    const changed = new EventEmitter<FleetChange>();
    const fleet = part<Fleet>({ onDidChange: changed.event, isLoaded: true, get: () => asking });
    const kept = new Map<string, unknown>([['terminals', ['s1:agent', 's1:shell']]]);
    const state = {
      keys: () => [...kept.keys()],
      get: (name: string, standard?: unknown) => kept.get(name) ?? standard,
      update: async (name: string, value: unknown) => void kept.set(name, value),
    };
    const terminals = new SessionTerminals(part({}), fleet, new LastUsed(), part(state));
    changed.fire({ kind: 'all' });
    expect(window.terminals).toEqual([]);
    expect(kept.get('terminals')).toEqual(['s1:agent', 's1:shell']);
    window.trust();
    expect(window.terminals.map(({ name }) => name)).toEqual(['Fix it', 'Fix it (shell)']);
    expect(kept.get('terminals')).toEqual(['s1:agent', 's1:shell']);
    terminals.dispose();
  });
});

describe('Allow', () => {
  it('goes to what the row showed, whatever is asked by now', async () => {
    const { context, sent } = contextOf({ ...asking, need: 2 });
    registerCommands(context, fail);
    await window.run('fairlead.allow', { kind: 'session', id: 's1', need: 1 });
    expect(sent).toEqual([['Answer', { session: 's1', answer: 'allow', need: 1 }]]);
  });

  it('shows first what the row or the notification showed in part; Deny needs no more', async () => {
    const input = { command: 'rm it\nand more' };
    const reason = { kind: 'permission', tool: 'Bash', message: 'Bash: rm it and more', input } as const;
    const session = { ...asking, reason };
    const { context, sent } = contextOf(session);
    registerCommands(context, fail);
    await window.run('fairlead.allow', { kind: 'session', id: 's1', need: 1 });
    await perform(context, 'fairlead.allow', session, fail);
    expect(sent.map(([name]) => name)).toEqual(['ShowNeed', 'ShowNeed']);
    await window.run('fairlead.deny', { kind: 'session', id: 's1', need: 1 });
    await perform(context, 'fairlead.deny', session, fail);
    const denied = ['Answer', { session: 's1', answer: 'deny', need: 1 }];
    expect(sent.slice(2)).toEqual([denied, denied]);
  });

  it('shows what is asked before it answers where nothing was shown', async () => {
    const { context, sent } = contextOf(asking);
    registerCommands(context, fail);
    window.pick = (title) => (title === 'Allow' ? { session: asking } : undefined);
    for (const args of [[], ['s1']]) await window.run('fairlead.allow', ...args);
    expect(sent.map(([name]) => name)).toEqual(['ShowNeed', 'ShowNeed']);
    // Without a name the person says first which session is meant.
    expect(window.asked).toEqual(['Allow', 'Fix it', 'Fix it']);
  });
});
