import { beforeEach, expect, it } from 'vitest';
import { Prompts } from '../../../extension/actions/prompts/prompts.ts';
import { COMMANDS, perform } from '../../../extension/commands.ts';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import type { Context } from '../../../extension/context.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { part } from '../../support/part.ts';
import { commands, Uri, window } from '../../support/vscode.ts';
import { Memento } from './support/memento.ts';
import { Editor, Questions } from './support/questions.ts';
import { sessionOf } from './support/sessions.ts';

const fake = new FakeWindow();
const session = sessionOf({
  id: 's1',
  title: 'Fix it',
  facts: { agent: 'idle', landing: 'none', life: 'active' },
});

let questions: Questions;
let context: Context;
let sent: object[];
let told: unknown[];
let failure: Error | undefined;
let closed: number;

beforeEach(() => {
  questions = new Questions();
  sent = [];
  told = [];
  failure = undefined;
  closed = 0;
  fake.said.length = 0;
  commands.executeCommand = async () => {
    closed += 1;
  };
  context = part<Context>({
    connection: {
      requestOnce: async (_name: string, params: object) => {
        if (failure !== undefined) throw failure;
        sent.push(params);
        return { confirmed: true };
      },
    },
    fleet: { get: () => session },
    prompts: new Prompts(Uri.file('/storage') as never, new Memento()),
  });
});

/** Opens Send Prompt, and gives its box. */
async function opened() {
  const running = perform(context, 'fairlead.sendPrompt', session, (each) => told.push(each));
  return { running, box: await questions.box() };
}

/** What the box begins with the next time it is opened. */
async function kept(): Promise<string> {
  const { running, box } = await opened();
  const { value } = box;
  box.hide();
  await running;
  return value;
}

it('a prompt is there again after Escape and after another box took its place, and gone once it was sent', async () => {
  const first = await opened();
  first.box.type('Half a prompt').hide();
  await first.running;
  const second = await opened();
  expect(second.box.value).toBe('Half a prompt');
  second.box.type('Half a prompt, and');
  const third = await opened();
  await second.running;
  expect(third.box.value).toBe('Half a prompt, and');
  third.box.type('A whole prompt').enter();
  await third.running;
  expect(sent).toEqual([{ session: 's1', text: 'A whole prompt' }]);
  expect(await kept()).toBe('');
});

it('a prompt that could not be sent is in an editor from which it can be, and why is told', async () => {
  failure = new ExtensionError('daemon.lost', 'The sidecar ended.');
  const { running, box } = await opened();
  box.type('A prompt that took long to write').enter();
  await running;
  expect(told).toEqual([failure]);
  expect(await kept()).toBe('');
  expect(questions.editors.map(({ text, document }) => [document.uri.path, text])).toEqual([
    ['/storage/prompts/Prompt for s1.md', 'A prompt that took long to write'],
  ]);
  failure = undefined;
  await COMMANDS['fairlead.sendFromEditor'].run(context);
  expect(sent).toEqual([{ session: 's1', text: 'A prompt that took long to write' }]);
  expect(closed).toBe(1);
});

it('a prompt that the person took back is there again, and in no editor', async () => {
  failure = new ExtensionError('cancelled', 'Cancelled.');
  const { running, box } = await opened();
  box.type('Not yet').enter();
  await running;
  expect(questions.editors).toEqual([]);
  expect(await kept()).toBe('Not yet');
});

it('a prompt that could not be taken back any more is neither', async () => {
  failure = new ExtensionError('prompt.sent', 'It is too late.');
  const { running, box } = await opened();
  box.type('Too late').enter();
  await running;
  expect(told).toEqual([failure]);
  expect(questions.editors).toEqual([]);
  expect(await kept()).toBe('');
});

it('a long prompt goes on in an editor by the pencil', async () => {
  const { running, box } = await opened();
  box.type('A first line').pencil();
  await running;
  const [editor] = questions.editors;
  if (editor !== undefined) editor.text += '\nand a second';
  expect(await kept()).toBe('');
  await COMMANDS['fairlead.sendFromEditor'].run(context);
  expect(sent).toEqual([{ session: 's1', text: 'A first line\nand a second' }]);
});

it('no other editor is sent to an agent', async () => {
  const editor = new Editor(Uri.parse('file:Prompt for s1.md'));
  editor.text = 'A file of the repository';
  window.activeTextEditor = editor;
  await COMMANDS['fairlead.sendFromEditor'].run(context);
  expect(sent).toEqual([]);
  expect(fake.said).toEqual([
    'This is for an editor that the pencil of Send Prompt or of Answer has opened.',
  ]);
});
