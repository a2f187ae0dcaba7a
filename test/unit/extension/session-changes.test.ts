import { beforeEach, describe, expect, it } from 'vitest';
import { openChanges } from '../../../extension/lanes/session-changes.ts';
import { commands, window } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

const session = sessionOf({ id: 'one' });

interface Tab {
  label: string;
}
let open: Tab[];
let told: string[];

beforeEach(() => {
  open = [];
  told = [];
  const group = {
    get tabs() {
      return open;
    },
    get activeTab() {
      return open.at(-1);
    },
  };
  window.tabGroups = {
    all: [group],
    activeTabGroup: group,
    close: async (tab: Tab) => {
      open = open.filter((each) => each !== tab);
    },
  };
  commands.executeCommand = async (_command: string, title: string, files: unknown[]) => {
    open.push({ label: `${title} (${files.length})` });
  };
  // A message that nobody closes.
  window.showInformationMessage = (text: string) => {
    told.push(text);
    return new Promise(() => {});
  };
});

/** Of a session that has changed so many files. */
function changed(count: number) {
  const files = Array.from({ length: count }, (_, n) => ({ path: `${n}.txt`, status: 'modified' }));
  return {
    request: async (): Promise<never> => ({ from: 'a', to: null, files }) as never,
  };
}

describe('the changes of a session', () => {
  it('take the place of those that were opened before', async () => {
    open = [{ label: 'README.md' }];
    await openChanges(changed(1), session, undefined);
    await openChanges(changed(2), session, undefined);
    await openChanges(changed(3), sessionOf({ id: 'two' }), undefined);
    expect(open.map(({ label }) => label)).toEqual(['README.md', 'Session one (2)', 'Session two (3)']);
    open = open.slice(0, 1);
    await openChanges(changed(4), session, undefined);
    expect(open.map(({ label }) => label)).toEqual(['README.md', 'Session one (4)']);
  });

  it('are done with while a message about them still stands', async () => {
    await openChanges(changed(0), session, undefined);
    await openChanges(changed(301), session, undefined);
    expect(told).toEqual([
      'Nothing has changed since main: "Session one".',
      'The first 300 of 301 changed files are shown.',
    ]);
  });
});
