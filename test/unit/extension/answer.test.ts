import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../extension/actions/answer.ts';
import { Prompts } from '../../../extension/actions/prompts/prompts.ts';
import { sendFromEditor } from '../../../extension/actions/send-from-editor.ts';
import { TextDocuments } from '../../../extension/actions/text-documents.ts';
import { nextSteps } from '../../../extension/fleet/next-steps.ts';
import { type Reason, ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { part } from '../../support/part.ts';
import { commands, TabInputText, Uri, window, workspace } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { Memento } from './support/memento.ts';
import { Questions } from './support/questions.ts';
import { sessionOf } from './support/sessions.ts';

interface Item {
  label: string;
}

let questions: Questions;
let prompts: Prompts;
let offered: string[][];
let run: unknown[][];
let failure: Error | undefined;
let shownTerminals: string[];

beforeEach(() => {
  questions = new Questions();
  prompts = new Prompts(Uri.file('/storage') as never, new Memento());
  offered = [];
  run = [];
  failure = undefined;
  shownTerminals = [];
  window.showInformationMessage = async () => undefined;
  commands.executeCommand = async (...call: unknown[]) => void run.push(call);
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
          if (name === 'Answer' && failure !== undefined) throw failure;
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
      prompts,
      terminals: { show: ({ id }) => void shownTerminals.push(id) },
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
  // As it stands there, with no icon in its place.
  const odd: Reason = { ...dialog, options: ['Yes, run $(whoami)', 'No'] };
  expect(await given(odd, ['Yes, run \\$(whoami)'])).toBe('Yes, run $(whoami)');
});

it('a plan is allowed, sent back with what to change, denied, or answered in its terminal', async () => {
  const empty: Reason = {
    kind: 'plan',
    tool: 'ExitPlanMode',
    message: 'A plan waits for approval.',
    input: {},
  };
  const plan: Reason = { ...empty, truncated: true };
  expect(await given(plan, ['$(check) Allow'])).toBe('allow');
  expect(await given(plan, ['$(x) Deny'])).toBe('deny');
  const sentBack = given(plan, ['$(comment) Say what to change…']);
  (await questions.box()).type('Use bricks').enter();
  expect(await sentBack).toBe('deny: Use bricks');
  expect(await given(plan, ['$(terminal) Answer in the terminal'])).toBeUndefined();
  expect(shownTerminals.at(-1)).toBe('one');
  // Where there is no plan, there is nothing to change of it.
  expect(await given(empty, ['$(comment) Say what to change…'])).toBeUndefined();
  expect(offered.at(-1)).toHaveLength((offered.at(-2)?.length ?? 0) - 1);
});

describe('a question', () => {
  const question = (multiSelect: boolean, options = ['red', 'blue']): Reason => ({
    kind: 'question',
    message: 'Which?',
    questions: [{ question: 'Which?', options, multiSelect }],
  });

  it('says so where it was accepted with nothing chosen, and nothing where it was left', async () => {
    const said: string[] = [];
    window.showInformationMessage = async (text: string) => void said.push(text);
    expect(await given(question(false), [])).toBeUndefined();
    expect(said).toEqual([]);
    expect(await given(question(true), [])).toBeUndefined();
    expect(said).toEqual(['Nothing was chosen, so nothing was answered.']);
  });

  it('takes several options, and a text of the person among them', async () => {
    expect(await given(question(true), ['red', 'blue'])).toBe('red, blue');
    const green = async (answered: Promise<unknown>) => {
      (await questions.box()).type(' green ').enter();
      return answered;
    };
    expect(await green(given(question(true), ['red', 'Something else…']))).toBe('red, green');
    expect(await green(given(question(false), ['Something else…']))).toBe('green');
    expect(await given(question(false), ['blue'])).toBe('blue');
    expect(await green(given(question(true, []), []))).toBe('green');
  });

  it('is left when nothing is picked or written', async () => {
    expect(await given(question(true), [])).toBeUndefined();
    const left = given(question(true), ['red', 'Something else…']);
    const box = await questions.box();
    box.enter();
    expect(box.validationMessage).toMatch(/^Write the answer/);
    box.hide();
    expect(await left).toBeUndefined();
  });
});

describe('what is written in answer', () => {
  const permission: Reason = { kind: 'permission', tool: 'Bash', message: 'Bash: rm it' };
  const WHY = '$(comment) Deny, and say why…';

  it('is there again after Escape or a failure, until it was given', async () => {
    const left = given(permission, [WHY]);
    (await questions.box()).type('Keep the old').hide();
    expect(await left).toBeUndefined();
    failure = new Error('The connection was lost.');
    const failing = given(permission, [WHY]);
    const again = await questions.box();
    expect(again.value).toBe('Keep the old');
    again.type('Keep the old one').enter();
    await expect(failing).rejects.toThrow('The connection was lost.');
    failure = undefined;
    const giving = given(permission, [WHY]);
    const third = await questions.box();
    expect(third.value).toBe('Keep the old one');
    third.enter();
    expect(await giving).toBe('deny: Keep the old one');
    const next = given(permission, [WHY]);
    const empty = await questions.box();
    expect(empty.value).toBe('');
    empty.hide();
    await next;
  });

  it('is of one question alone', async () => {
    const asks = (question: string): Reason => ({
      kind: 'question',
      message: question,
      questions: [{ question, options: [], multiSelect: false }],
    });
    for (const [question, before] of [
      ['Which colour?', ''],
      ['Which size?', ''],
      ['Which colour?', 'of Which colour?'],
    ] as const) {
      const left = given(asks(question), []);
      const box = await questions.box();
      expect(box.value).toBe(before);
      box.type(`of ${question}`).hide();
      await left;
    }
  });

  it('goes on in an editor by the pencil, and denies from there what was asked then', async () => {
    const written = given(permission, [WHY]);
    (await questions.box()).type('Keep it').pencil();
    await written;
    const [editor] = questions.editors;
    expect(editor?.text).toBe('Keep it');
    if (editor !== undefined) editor.text += '\nand add to it.';
    const sent: object[] = [];
    const asking = sessionOf({ id: 'one', state: 'needs-you', need: 2, reason: permission });
    const request = async (_name: string, params: object): Promise<never> => void sent.push(params) as never;
    const context = {
      connection: { start: request as never, request, requestOnce: request },
      fleet: fleetOf([asking]).fleet,
      needsInHand: { take() {} },
      documents: { put: () => part<never>({}) },
      prompts,
      terminals: { show() {} },
    };
    await sendFromEditor(context);
    expect(sent).toEqual([{ session: 'one', answer: 'deny: Keep it\nand add to it.', need: 1 }]);
    expect(run).toEqual([['workbench.action.revertAndCloseActiveEditor']]);
    // As after a reload: nobody knows what it denies, so it is asked for again.
    prompts.needOfEditor.clear();
    await sendFromEditor(context);
    expect(sent).toHaveLength(1);
    const again = given(permission, [WHY]);
    const box = await questions.box();
    expect(box.value).toBe('Keep it\nand add to it.');
    box.hide();
    await again;
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
          prompts: new Prompts(Uri.file('/storage') as never, new Memento()),
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
    expect(open && (await documents.provideTextDocumentContent(open.input.uri as never))).toBe(
      '\n\n\n\n\nls\n',
    );
    leave(undefined);
    await second;
    expect(tabs).toEqual([]);
  });
});
