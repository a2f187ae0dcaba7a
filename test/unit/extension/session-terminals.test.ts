import { beforeEach, describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { SessionTerminals } from '../../../extension/terminals/session-terminals.ts';
import { window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

let made: string[];
let shown: string[];
let attached: string[];
let activate: () => void;

beforeEach(() => {
  made = [];
  shown = [];
  attached = [];
  window.activeTerminal = undefined;
  window.state = { focused: true };
  window.onDidChangeActiveTerminal = (listener: () => void) => {
    activate = listener;
    return { dispose() {} };
  };
  window.createTerminal = ({ name, pty }: { name: string; pty: vscode.Pseudoterminal }) => {
    made.push(name);
    // As VS Code does with one that is not shown.
    pty.open({ columns: 80, rows: 30 });
    return { name, show: () => shown.push(name), dispose() {} };
  };
});

/** A window that had these terminals before it was reloaded. */
function reloaded(kept: Record<string, unknown>, ...sessions: ReturnType<typeof sessionOf>[]) {
  const state = new Map(Object.entries(kept));
  const { fleet, tell } = fleetOf([]);
  const terminals = new SessionTerminals(
    {
      attach: async (session, pane): Promise<never> => {
        attached.push(`${session}:${pane}`);
        return new Promise<never>(() => {});
      },
      request: async (): Promise<never> => undefined as never,
      requestIfConnected: async () => undefined,
    },
    fleet,
    new LastUsed(),
    {
      keys: () => [...state.keys()],
      get: (key: string, fallback?: unknown) => (state.get(key) ?? fallback) as never,
      update: async (key: string, value: unknown) => void state.set(key, value),
    },
  );
  for (const session of sessions) tell(session);
  // Archived by now: everything is told anew.
  tell(sessionOf({ id: 'x' }));
  tell(sessionOf({ id: 'x', state: 'archived' }));
  return { terminals, state };
}

const awake = sessionOf({ id: 'awake' });
const asleep = sessionOf({
  id: 'asleep',
  state: 'sleeping',
  facts: { agent: 'idle', landing: 'none', life: 'sleeping' },
});

describe('terminals after a reload', () => {
  it('are all there, and only the one that was in front is shown and joined', () => {
    const kept = {
      terminals: ['awake:agent', 'awake:shell', 'asleep:agent', 'gone:agent'],
      'terminals.front': 'awake:shell',
    };
    const { state } = reloaded(kept, awake, asleep);
    expect(made).toEqual(['Session awake', 'Session awake (shell)', 'Session asleep']);
    expect(shown).toEqual(['Session awake (shell)']);
    expect(attached).toEqual(['awake:shell']);
    expect(state.get('terminals')).toEqual(['awake:agent', 'awake:shell', 'asleep:agent']);
  });

  it('open no panel when a terminal of something else was in front', () => {
    const { terminals, state } = reloaded({ terminals: ['awake:agent'] }, awake);
    expect(shown).toEqual([]);
    terminals.show(awake, 'agent');
    expect(shown).toEqual(['Session awake']);
    window.activeTerminal = { name: 'bash' };
    activate();
    expect(state.get('terminals.front')).toBeUndefined();
  });
});
