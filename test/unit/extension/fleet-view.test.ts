import { beforeEach, expect, it } from 'vitest';
import { Disposable, EventEmitter } from 'vscode';
import type { ConnectionState } from '../../../extension/connection/connection.ts';
import { FleetView } from '../../../extension/fleet/fleet-view.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { part } from '../../support/part.ts';
import { commands, window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

/** What menus and the palette match, as it stands. */
const contexts = new Map<unknown, unknown>();

beforeEach(() => {
  contexts.clear();
  const never = () => new Disposable(() => {});
  Object.assign(window, {
    createTreeView: () => ({
      visible: false,
      onDidChangeSelection: never,
      onDidChangeVisibility: never,
      dispose: () => {},
    }),
    registerFileDecorationProvider: never,
  });
  commands.executeCommand = async (id: string, name: unknown, value: unknown) => {
    if (id === 'setContext') contexts.set(name, value);
  };
});

it('the palette has Remove from Queue while a session is in it', () => {
  const idle = sessionOf({ id: 'one' });
  const { fleet, tell } = fleetOf([idle, sessionOf({ id: 'two' })]);
  const view = new FleetView(
    part({
      fleet,
      connection: {
        state: { kind: 'off' },
        onDidChangeState: new EventEmitter<ConnectionState>().event,
        whenOpened: new Promise(() => {}),
      },
      repositories: { all: ['/repo'], isKnown: true, onDidChange: new EventEmitter<void>().event },
      lastUsed: new LastUsed(),
    }),
  );
  const seen = [contexts.get('fairlead.hasQueued')];
  tell({ ...idle, state: 'queued', queue: 'entry' });
  seen.push(contexts.get('fairlead.hasQueued'));
  tell(idle);
  seen.push(contexts.get('fairlead.hasQueued'));
  expect(seen).toEqual([false, true, false]);
  view.dispose();
});
