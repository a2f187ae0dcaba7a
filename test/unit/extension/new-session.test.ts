import { beforeEach, describe, expect, it } from 'vitest';
import { newSession, newSessionFromEditor } from '../../../extension/actions/new-session/new-session.ts';
import { Prompts } from '../../../extension/actions/prompts/prompts.ts';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { commands, Uri, window, workspace } from '../../support/vscode.ts';
import { Memento } from './support/memento.ts';
import { Editor, Questions } from './support/questions.ts';
import { sessionOf } from './support/sessions.ts';

const session = sessionOf({ id: 'one' });

let questions: Questions;
let prompts: Prompts;
let folder: string;
/** How often the person was asked for the folder. */
let chosen: number;
let started: object[];
let logged: string[];
let told: string[];
/** Ends each `NewSession` in its order; empty: at once. */
let gates: Promise<void>[];
/** Until then no repository is found. */
let looking: Promise<void> | undefined;
let missing: boolean;
let load: () => Promise<void>;

beforeEach(() => {
  questions = new Questions();
  prompts = new Prompts(Uri.file('/storage') as never, new Memento());
  folder = '/b';
  chosen = 0;
  started = [];
  logged = [];
  told = [];
  gates = [];
  looking = undefined;
  missing = false;
  load = async () => {};
  window.showInformationMessage = async (text: string) => void told.push(text);
  commands.executeCommand = async () => undefined;
});

const connection = {
  start: async (): Promise<never> => undefined as never,
  request: async (): Promise<never> => {
    await looking;
    return { branch: 'main', branches: ['main', 'release'], uncommitted: [] } as never;
  },
  requestOnce: async (_name: string, params: object): Promise<never> => {
    started.push(params);
    await gates.shift();
    return { session, attempts: [session], notes: [], leftBehind: 0 } as never;
  },
};

function parts() {
  return {
    connection,
    prompts,
    fleet: { get: () => (missing ? undefined : session), load: () => load() },
    repositories: {
      all: ['/a', '/b'],
      findAgain: async () => {},
      choose: async () => {
        chosen += 1;
        return folder;
      },
    },
    terminals: { show() {} },
    output: { error: (text: string | Error) => void logged.push(String(text)) },
  };
}

/** Opens New Session, types a prompt and goes on to the review. */
async function prompted(text: string) {
  const running = newSession(parts());
  running.catch(() => {});
  (await questions.box()).type(text).enter();
  return { running, review: await questions.list('New Session') };
}

async function choose(line: string, value: string) {
  (await questions.list('New Session')).pick(line);
  (await questions.list(line === 'Base' ? 'Base' : line)).pick(value);
  return questions.list('New Session');
}

/** What is typed into New Session the next time it is opened; it is left then. */
async function kept(): Promise<string> {
  const running = newSession(parts());
  const box = await questions.box();
  const { value } = box;
  box.hide();
  await running;
  return value;
}

function held(): { gate: Promise<void>; open(): void; fail(error: Error): void } {
  let open = () => {};
  let fail: (error: Error) => void = () => {};
  const gate = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { gate, open, fail };
}

describe('a prompt that was typed', () => {
  it('is in the editor that the pencil opens, for the repository that was chosen', async () => {
    const running = newSession(parts());
    (await questions.box()).type('Do this and').pencil();
    await running;
    const [editor] = questions.editors;
    expect(editor?.text).toBe('Do this and');
    expect(await kept()).toBe('');
    if (editor !== undefined) editor.text += ' that';
    const left = newSessionFromEditor(parts());
    (await questions.list()).hide();
    await left;
    const starting = newSessionFromEditor(parts());
    (await questions.list()).pick('Start');
    await starting;
    expect(started).toMatchObject([{ folder: '/b', prompt: 'Do this and that' }]);
    // For the pencil and to see what was kept.
    expect(chosen).toBe(2);
  });

  it('is there again, with what was chosen, after Back at the review', async () => {
    const { running } = await prompted('Do this');
    (await choose('Model', 'opus')).back();
    const box = await questions.box();
    expect(box.value).toBe('Do this');
    box.type('Something else').enter();
    (await questions.list()).pick('Start');
    await running;
    expect(started).toMatchObject([{ prompt: 'Something else', model: 'opus' }]);
    expect(chosen).toBe(1);
  });

  it('is left by Escape or another list at any step, which shows nothing more, and is there again', async () => {
    const { running, review } = await prompted('Do this');
    review.hide();
    await running;
    expect(questions.shown).toBeUndefined();
    const again = await prompted('Do this');
    again.review.pick('Permission mode');
    (await questions.list('Permission mode')).hide();
    await again.running;
    expect(questions.shown).toBeUndefined();
    expect(await kept()).toBe('Do this');
    expect([started, questions.editors]).toEqual([[], []]);
  });

  it('goes back from each choice to the review by Back alone', async () => {
    const { running } = await prompted('Do this');
    for (const line of ['Base', 'Model', 'Permission mode', 'Attempts']) {
      (await questions.list('New Session')).pick(line);
      (await questions.list(line)).back();
    }
    (await questions.list('New Session')).pick('Model');
    (await questions.list('Model')).pick('Another');
    (await questions.box()).back();
    (await questions.list('New Session')).pick('Start');
    await running;
    expect(started).toEqual([
      { folder: '/b', prompt: 'Do this', attempts: 1, bringChanges: false, start: true },
    ]);
  });

  it('is in an editor when the session could not be started, with what was chosen', async () => {
    const { gate, fail } = held();
    gates = [gate];
    const { running } = await prompted('Do this');
    (await choose('Permission mode', 'plan')).pick('Start');
    fail(new Error('The disk is full.'));
    await expect(running).rejects.toThrow('The disk is full.');
    expect(questions.editors.map(({ text }) => text)).toEqual(['Do this']);
    const starting = newSessionFromEditor(parts());
    (await questions.list()).pick('Start');
    await starting;
    expect(started.at(-1)).toMatchObject({ prompt: 'Do this', mode: 'plan' });
  });

  it('is a draft again when its start was cancelled', async () => {
    const { gate, fail } = held();
    gates = [gate];
    const { running, review } = await prompted('Do this');
    review.pick('Start');
    fail(new ExtensionError('cancelled', 'Cancelled.'));
    await expect(running).rejects.toThrow('Cancelled.');
    expect(questions.editors).toEqual([]);
    expect(await kept()).toBe('Do this');
  });
});

describe('a second New Session', () => {
  it('begins empty while the first one is being made, and keeps its own prompt', async () => {
    const { gate, open } = held();
    gates = [gate];
    const first = await prompted('The first');
    first.review.pick('Start');
    const second = newSession(parts());
    const box = await questions.box();
    expect(box.value).toBe('');
    box.type('The second').hide();
    await second;
    open();
    await first.running;
    expect(await kept()).toBe('The second');
  });

  it('leaves the first one its prompt when that fails or is cancelled', async () => {
    const failing = held();
    const cancelled = held();
    gates = [failing.gate, cancelled.gate];
    const first = await prompted('The first');
    first.review.pick('Start');
    const second = await prompted('The second');
    second.review.pick('Start');
    const third = newSession(parts());
    (await questions.box()).type('The third');
    // Both at once, as when the connection is lost.
    failing.fail(new Error('Lost.'));
    cancelled.fail(new ExtensionError('cancelled', 'Cancelled.'));
    await expect(first.running).rejects.toThrow('Lost.');
    await expect(second.running).rejects.toThrow('Cancelled.');
    expect(questions.editors.map(({ text }) => text).sort()).toEqual(['The first', 'The second']);
    (await questions.box()).hide();
    await third;
    expect(await kept()).toBe('The third');
  });

  it('goes on with what stands in the box of the first, which ends', async () => {
    const first = newSession(parts());
    (await questions.box()).type('Half a prom');
    const second = newSession(parts());
    await first;
    const box = await questions.box();
    expect(box.value).toBe('Half a prom');
    box.hide();
    await second;
    expect(await kept()).toBe('Half a prom');
  });

  it('keeps what is typed in it where the first one stood empty', async () => {
    const first = newSession(parts());
    await questions.box();
    const second = newSession(parts());
    await first;
    (await questions.box()).type('Do this').hide();
    await second;
    expect(await kept()).toBe('Do this');
  });

  it('is not covered by the review of the first, which was still to come', async () => {
    const { gate, open } = held();
    looking = gate;
    const first = newSession(parts());
    (await questions.box()).type('Do this').enter();
    const second = newSession(parts());
    const box = await questions.box();
    expect(box.value).toBe('Do this');
    open();
    await first;
    expect(questions.shown).toBe(box);
    box.hide();
    await second;
  });

  it('takes the place of a review, and keeps what was chosen there', async () => {
    const first = await prompted('Do this');
    await choose('Model', 'opus');
    const second = newSession(parts());
    const box = await questions.box();
    await first.running;
    expect(questions.shown).toBe(box);
    box.enter();
    (await questions.list()).pick('Start');
    await second;
    expect(started).toMatchObject([{ prompt: 'Do this', model: 'opus' }]);
  });
});

describe('what was chosen for a prompt that was left', () => {
  beforeEach(async () => {
    const { running } = await prompted('Rename the login page');
    (await choose('Permission mode', 'bypassPermissions')).hide();
    await running;
  });

  it('is forgotten when another prompt is typed over it', async () => {
    const { running, review } = await prompted('Read the documentation');
    review.pick('Start');
    await running;
    expect(started).toEqual([
      { folder: '/b', prompt: 'Read the documentation', attempts: 1, bringChanges: false, start: true },
    ]);
  });

  it('is forgotten when it was emptied', async () => {
    const emptying = newSession(parts());
    (await questions.box()).type('').hide();
    await emptying;
    const { running, review } = await prompted('Rename the login page');
    expect(review.line('Start')).toBe('Enter');
    review.hide();
    await running;
  });

  it('holds when the prompt is only changed, and is seen before it starts', async () => {
    const { running, review } = await prompted('Rename the login page and its test');
    expect(review.line('Start')).toBe('bypassPermissions');
    expect(review.line('Permission mode')).toBe('bypassPermissions (chosen)');
    expect(review.line('Model')).toBe('default');
    (await choose('Base', 'release')).pick('Attempts');
    (await questions.list('Attempts')).pick('3');
    const changed = await questions.list('New Session');
    expect(changed.line('Start')).toBe('from release, bypassPermissions, 3 attempts');
    changed.hide();
    await running;
  });
});

describe('a session that was made', () => {
  it('is not made again for what could not be shown of it', async () => {
    missing = true;
    load = async () => {
      throw new Error('The connection was lost.');
    };
    const { running, review } = await prompted('Do this');
    review.pick('Start');
    await running;
    expect(logged).toEqual(['A session was started and could not be shown: The connection was lost.']);
    expect(await kept()).toBe('');
    expect(questions.editors).toEqual([]);
  });
});

describe('the editor of a prompt', () => {
  let closed: number;
  let removed: string[];
  let saved: string[];

  beforeEach(() => {
    closed = 0;
    removed = [];
    saved = [];
    workspace.fs = {
      stat: async ({ path }: Uri) => {
        if (!saved.includes(path)) throw new Error('It is not there.');
      },
      delete: async ({ path }: Uri) => void removed.push(path),
    };
    commands.executeCommand = async (name: string) => {
      if (name === 'workbench.action.revertAndCloseActiveEditor') closed += 1;
    };
  });

  /** Presses the button of an editor with this text, and goes on to the review. */
  async function pressed(text: string, uri = Uri.parse('untitled:/storage/prompts/Prompt.md')) {
    const editor = new Editor(uri);
    editor.text = text;
    window.activeTextEditor = editor;
    const running = newSessionFromEditor(parts());
    return { editor, running, review: await questions.list() };
  }

  it('is closed once its session was started', async () => {
    const { running, review } = await pressed('Do this');
    review.pick('Start');
    await running;
    expect(closed).toBe(1);
  });

  it('is removed with its file where the person has saved it', async () => {
    const { running, review } = await pressed('Do this', Uri.file('/storage/prompts/Prompt.md'));
    review.pick('Start');
    await running;
    expect([closed, removed]).toEqual([1, ['/storage/prompts/Prompt.md']]);
  });

  it('is kept where it is a file of the person', async () => {
    const { running, review } = await pressed('Do this', Uri.file('/b/Prompt.md'));
    review.pick('Start');
    await running;
    expect([closed, removed]).toEqual([0, []]);
  });

  it('has another name than one that was saved', async () => {
    saved.push('/storage/prompts/Prompt.md');
    expect((await prompts.editors.open('Prompt', 'Do this')).path).toBe('/storage/prompts/Prompt 2.md');
  });

  it('stays with what was written on in it while its session started', async () => {
    const { gate, open } = held();
    gates = [gate];
    const { editor, running, review } = await pressed('Do this');
    review.pick('Start');
    await expect.poll(() => started.length).toBe(1);
    editor.text += '\nAnd that';
    open();
    await running;
    expect(closed).toBe(0);
    expect(told).toEqual(['It was sent as it was then. What you have written since stays in the editor.']);
  });

  it('starts one session when it is pressed twice', async () => {
    const { gate, open } = held();
    gates = [gate];
    const { running, review } = await pressed('Do this');
    review.pick('Start');
    await expect.poll(() => started.length).toBe(1);
    await newSessionFromEditor(parts());
    expect(told).toEqual(['The text of this editor is being sent already.']);
    open();
    await running;
    expect(started).toHaveLength(1);
  });
});
