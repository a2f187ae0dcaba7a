import { beforeEach, describe, expect, it } from 'vitest';
import { SessionChanges } from '../../../extension/lanes/session-changes.ts';
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

/** Opens the changes of a session: so many files at the first time, at the second, and so on. */
function opens(...counts: number[]) {
  const changes = new SessionChanges({
    request: async (): Promise<never> => {
      const files = Array.from({ length: counts.shift() ?? 0 }, (_, n) => ({
        path: `${n}.txt`,
        status: 'modified',
      }));
      return { from: 'a', to: null, files } as never;
    },
  });
  return (of = session) => changes.open(of, undefined);
}

const labels = () => open.map(({ label }) => label);

describe('the changes of a session', () => {
  it('take the place of those that were opened before', async () => {
    open = [{ label: 'README.md' }];
    const show = opens(1, 2, 3, 4);
    await show();
    await show();
    await show(sessionOf({ id: 'two' }));
    expect(labels()).toEqual(['README.md', 'Session one (2)', 'Session two (3)']);
    open = open.slice(0, 1);
    await show();
    expect(labels()).toEqual(['README.md', 'Session one (4)']);
  });

  it('are in one tab though they are asked for twice at once', async () => {
    const show = opens(1, 2);
    await Promise.all([show(), show()]);
    expect(labels()).toEqual(['Session one (2)']);
  });

  it('are shown no more once nothing is changed', async () => {
    open = [{ label: 'README.md' }];
    const show = opens(1, 0);
    await show();
    await show();
    expect(labels()).toEqual(['README.md']);
    expect(told).toEqual(['Nothing has changed since main: "Session one".']);
  });

  it('close no file to which the person has gone while they were read', async () => {
    open = [{ label: 'README.md' }];
    commands.executeCommand = async (_command: string, title: string, files: unknown[]) => {
      open.push({ label: `${title} (${files.length})` }, { label: 'draft.md' });
    };
    const show = opens(1, 2);
    await show();
    await show();
    expect(labels()).toEqual(['README.md', 'draft.md', 'Session one (2)', 'draft.md']);
  });

  it('are done with while a message about them still stands', async () => {
    const show = opens(0, 301);
    await show();
    await show();
    expect(told).toEqual([
      'Nothing has changed since main: "Session one".',
      'The first 300 of 301 changed files are shown.',
    ]);
  });
});
