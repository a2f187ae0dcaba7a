import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../extension/actions/answer.ts';
import { TextDocuments } from '../../../extension/actions/text-documents.ts';
import { nextSteps } from '../../../extension/fleet/next-steps.ts';
import { type Reason, ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { commands, TabInputText, type Uri, window, workspace } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

interface Item {
  label: string;
}

let offered: string[][];
let run: unknown[][];

beforeEach(() => {
  offered = [];
  run = [];
  commands.executeCommand = async (...call: unknown[]) => void run.push(call);
  window.showInputBox = async () => {
    throw new Error('no text is asked for');
  };
});

/** What is sent as the answer to `reason` by a person who picks these of what is offered. */
async function given(reason: Reason, picks: readonly string[]): Promise<unknown> {
  const session = sessionOf({ id: 'one', state: 'needs-you', need: 1, reason });
  window.showQuickPick = async (items: readonly (Item | string)[], { canPickMany = false } = {}) => {
    const labelOf = (item: Item | string) => (typeof item === 'string' ? item : item.label);
    offered.push(items.map(labelOf));
    const picked = items.filter((item) => picks.includes(labelOf(item)));
    return canPickMany ? picked : picked[0];
  };
  let sent: unknown;
  await answer(
    {
      connection: {
        request: async (name: string, params: object): Promise<never> => {
          if (name === 'Answer') sent = Reflect.get(params, 'answer');
          return { reason, need: 1 } as never;
        },
      },
      fleet: fleetOf([session]).fleet,
      needsInHand: { take() {} },
      documents: {
        put: () => {
          throw new Error('nothing is shown');
        },
      },
      terminals: { show() {} },
    },
    session,
  );
  return sent;
}

describe('what takes no answer', () => {
  const unanswerable = ReasonKind.options.filter(
    (kind) => !['permission', 'question', 'plan', 'trust'].includes(kind),
  );

  it.each(unanswerable)('is offered what helps instead: %s', async (kind) => {
    expect(await given({ kind, message: 'Something.' }, ['Open Terminal'])).toBeUndefined();
    expect(offered).toEqual([nextSteps({ kind, message: 'Something.' })]);
    expect(run).toEqual([['fairlead.openTerminal', 'one']]);
  });

  it('can be landed again, or told to go on', async () => {
    await given({ kind: 'landing-stopped', message: 'Offline.' }, ['Land Again']);
    await given({ kind: 'api-error', message: 'Overloaded.' }, ['Send Prompt…']);
    expect(run).toEqual([
      ['fairlead.land', 'one'],
      ['fairlead.sendPrompt', 'one'],
    ]);
  });
});

it('a dialog on the screen of the agent takes one of its lines', async () => {
  const dialog: Reason = { kind: 'unknown', message: 'Go on?', dialog: true, options: ['Yes', 'No'] };
  expect(await given(dialog, ['No'])).toBe('No');
  expect(nextSteps(dialog)).toEqual(['Answer…', 'Open Terminal']);
});

describe('a question', () => {
  const question = (multiSelect: boolean, options = ['red', 'blue']): Reason => ({
    kind: 'question',
    message: 'Which?',
    questions: [{ question: 'Which?', options, multiSelect }],
  });

  it('takes several options, and a text of the person among them', async () => {
    expect(await given(question(true), ['red', 'blue'])).toBe('red, blue');
    window.showInputBox = async () => ' green ';
    expect(await given(question(true), ['red', 'Something else…'])).toBe('red, green');
    expect(await given(question(false), ['Something else…'])).toBe('green');
    expect(await given(question(false), ['blue'])).toBe('blue');
    expect(await given(question(true, []), [])).toBe('green');
  });

  it('is left when nothing is picked or written', async () => {
    window.showInputBox = async () => '';
    expect(await given(question(true), [])).toBeUndefined();
    expect(await given(question(true), ['red', 'Something else…'])).toBeUndefined();
  });
});

describe('a tool that is asked about twice at a time', () => {
  it('stays on show for the second question when that takes the place of the first', async () => {
    const reason: Reason = {
      kind: 'permission',
      message: 'Bash: ls',
      tool: 'Bash',
      input: { command: 'ls' },
    };
    const session = sessionOf({ id: 'one', state: 'needs-you', need: 1, reason });
    const documents = new TextDocuments({});
    // As VS Code does it: a text is opened in a tab, and one list takes the place of another, which was left then.
    let tabs: { input: TabInputText }[] = [];
    Object.assign(window, {
      showTextDocument: async (uri: Uri) => void tabs.push({ input: new TabInputText(uri) }),
      tabGroups: {
        get all() {
          return [{ tabs }];
        },
        close: async (closed: readonly object[]) => {
          tabs = tabs.filter((tab) => !closed.includes(tab));
        },
      },
    });
    workspace.openTextDocument = async (uri: Uri) => uri;
    let leave: (picked: undefined) => void = () => {};
    window.showQuickPick = () => {
      leave(undefined);
      return new Promise((resolve) => {
        leave = resolve;
      });
    };
    const ask = () =>
      answer(
        {
          connection: { request: async (): Promise<never> => ({ reason, need: 1 }) as never },
          fleet: fleetOf([session]).fleet,
          needsInHand: { take() {} },
          documents,
          terminals: { show() {} },
        },
        session,
      );
    const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
    const first = ask();
    await settle();
    const second = ask();
    await first;
    const [open, ...others] = tabs;
    expect(others).toEqual([]);
    expect(open && (await documents.provideTextDocumentContent(open.input.uri as never))).toBe('ls\n');
    leave(undefined);
    await second;
    expect(tabs).toEqual([]);
  });
});
