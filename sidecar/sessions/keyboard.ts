import { dialogOptions, hasHiddenOptions } from '../agents/claude/dialog.ts';
import { type Answer, answerSteps, INTERRUPT, type KeyStep } from '../agents/claude/keys.ts';
import { withDialog } from '../agents/claude/open-dialog.ts';
import { sleep } from '../platform/clock.ts';
import { answersTo, takesNoAnswer, takesWhy } from '../protocol/answers.ts';
import { FairleadError } from '../protocol/errors.ts';
import { needHint } from '../protocol/need-hint.ts';
import type { Reason } from '../protocol/reason.ts';
import { isSame } from './need.ts';
import type { SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

/** How long a dialog may take to be drawn after the agent has told of it, in milliseconds. */
const DRAWN_WITHIN_MS = 5_000;

/** The same of one that nobody has told of: what may stand on the screen stands there by now. */
const UNTOLD_WITHIN_MS = 1_000;

const LOOK_EVERY_MS = 100;

/** Rows in which the CLI draws any of its dialogs whole. */
const HIGH_ROWS = 120;

/** How long a program that is awake takes at most to draw itself anew, in milliseconds. */
const REDRAWN_WITHIN_MS = 1_000;

/** What an answer is given to. */
interface Question {
  input: unknown;
  asked(): boolean;
  /** Whether what stands on the screen is what was asked; by default all is. */
  fits?: (screen: readonly string[]) => boolean;
  /** Whether the screen shows what comes before its dialog, which is not waited for then; by default nothing does. */
  comesBefore?: (screen: readonly string[]) => boolean;
  /** How long its dialog may take to be drawn, in milliseconds. */
  withinMs?: number;
}

/** Presses the keys of a person in the terminal of an agent. */
export class Keyboard {
  readonly #terminals: Pick<TerminalHost, 'request'>;

  constructor(terminals: Pick<TerminalHost, 'request'>) {
    this.#terminals = terminals;
  }

  /** Rows of the terminal at this moment. */
  async screen(terminal: string): Promise<string[]> {
    return (await this.#terminals.request('screen', { id: terminal })).text;
  }

  /**
   * Whether the program has taken all keys that were written so far: it draws itself anew when the size of its terminal
   * changes, and does so twice. Between the two it went once around its loop, and read what there was to be read. One that
   * is stopped, swapped out or busy with something else draws nothing. Seen with 2.1.332, within 30 ms.
   */
  async isAwake(terminal: string): Promise<boolean> {
    const { cols, rows } = await this.#terminals.request('screen', { id: terminal });
    const other = rows > 1 ? rows - 1 : rows + 1;
    return this.#giveBackSize(
      terminal,
      { cols, rows },
      other,
      async () =>
        (await this.#redraws(terminal, { cols, rows: other })) &&
        (await this.#redraws(terminal, { cols, rows })),
    );
  }

  /** Runs what gives the terminal `other` rows; it has its own size back then, whatever comes of it. */
  async #giveBackSize<T>(
    terminal: string,
    { cols, rows }: { cols: number; rows: number },
    other: number,
    run: () => Promise<T>,
  ): Promise<T> {
    try {
      return await run();
    } finally {
      const now = await this.#terminals.request('screen', { id: terminal });
      // Whoever looks at it may have given it another size meanwhile.
      if (now.cols === cols && now.rows === other)
        await this.#terminals.request('resize', { id: terminal, cols, rows });
    }
  }

  async #redraws(terminal: string, size: { cols: number; rows: number }): Promise<boolean> {
    const { position } = await this.#terminals.request('screen', { id: terminal });
    await this.#terminals.request('resize', { id: terminal, ...size });
    for (let waited = 0; waited <= REDRAWN_WITHIN_MS; waited += LOOK_EVERY_MS) {
      await sleep(LOOK_EVERY_MS);
      if ((await this.#terminals.request('screen', { id: terminal })).position > position) return true;
    }
    return false;
  }

  /** Writes the steps; false when the screen was not what a step expects: the rest is then not written. */
  async press(terminal: string, steps: readonly KeyStep[]): Promise<boolean> {
    for (const step of steps) {
      if (step.expect !== undefined && !(await this.#shows(terminal, step.expect))) return false;
      if (step.keys !== '') await this.#terminals.request('write', { id: terminal, data: step.keys });
      await sleep(step.pauseMs);
    }
    return true;
  }

  /**
   * Answers the dialog on the screen, which may still be about to be drawn. False when none comes, when it has no such
   * answer, or when it is no longer `asked`: nothing is pressed then, unless the dialog changed meanwhile.
   */
  async answer(terminal: string, answer: Answer, question: Question): Promise<boolean> {
    const given = await this.#answerShown(terminal, answer, question, 'as-it-is');
    if (given !== 'hidden') return given === 'pressed';
    const { cols, rows } = await this.#terminals.request('screen', { id: terminal });
    return this.#giveBackSize(terminal, { cols, rows }, HIGH_ROWS, async () => {
      await this.#terminals.request('resize', { id: terminal, cols, rows: HIGH_ROWS });
      return (await this.#answerShown(terminal, answer, question, 'high')) === 'pressed';
    });
  }

  /** Gives `hidden` when the answer may be among the choices for which the terminal is too low. */
  async #answerShown(
    terminal: string,
    answer: Answer,
    { input, asked, fits, comesBefore, withinMs = DRAWN_WITHIN_MS }: Question,
    height: 'as-it-is' | 'high',
  ): Promise<'pressed' | 'not-pressed' | 'hidden'> {
    for (let waited = 0; asked(); waited += LOOK_EVERY_MS) {
      const screen = await this.screen(terminal);
      if (comesBefore?.(screen) === true) return 'not-pressed';
      const isCut = hasHiddenOptions(screen);
      // In a high terminal that is how it was drawn before.
      const isDrawn = dialogOptions(screen).length > 0 && !(isCut && height === 'high');
      if (isDrawn) {
        if (fits?.(screen) === false) return 'not-pressed';
        const steps = answerSteps(screen, answer, input);
        if (steps === undefined) return isCut ? 'hidden' : 'not-pressed';
        return asked() && (await this.press(terminal, steps)) ? 'pressed' : 'not-pressed';
      }
      if (waited >= withinMs) break;
      await sleep(LOOK_EVERY_MS);
    }
    return 'not-pressed';
  }

  /** A redraw may be under way: the text may come within a second. */
  async #shows(terminal: string, text: string): Promise<boolean> {
    for (let waited = 0; waited <= 1_000; waited += LOOK_EVERY_MS) {
      if ((await this.screen(terminal)).join('\n').includes(text)) return true;
      await sleep(LOOK_EVERY_MS);
    }
    return false;
  }
}

/**
 * Answers what the agent asked when the person gave this answer, and nothing that it asks since.
 * @param seen the session as it was then; `need` is what it was given to
 * @param now the session as it is at the moment
 * @param input the whole input of the tool that asks
 * @throws FairleadError `answer.need-changed` when it asks something else; `answer.nothing-to-answer` when it asks
 * nothing, or has no such answer
 */
export async function giveAnswer(
  keyboard: Keyboard,
  seen: SessionRecord,
  answer: string,
  now: () => SessionRecord,
  input: () => unknown = () => now().reason?.input,
): Promise<void> {
  const { id, terminal, reason } = seen;
  const isDemand = reason !== null && isSame(reason, seen.demand);
  if (seen.agent_fact === 'needs-you' && reason !== null && (isDemand || takesNoAnswer(reason))) {
    throw takesNone(seen, reason);
  }
  if (terminal === null || seen.agent_fact !== 'needs-you' || reason === null || seen.life === 'sleeping') {
    throw new FairleadError('answer.nothing-to-answer', `${id} asks nothing.`, {
      hint: `See what it does: fairlead show ${id}`,
    });
  }
  const asked = () => asksStill(seen, now());
  const question = {
    input: input(),
    asked,
    ...(reason.dialog === true ? { fits: (screen: readonly string[]) => shows(screen, reason) } : {}),
    ...(isTold(reason) ? {} : { withinMs: UNTOLD_WITHIN_MS }),
  };
  const given = reason.dialog === true ? choiceOf(answer, reason) : answerOf(answer);
  if (await keyboard.answer(terminal, given, question)) return;
  if (asked()) throw notAnswered(id, answer, reason);
  throw notAsked(now());
}

/** Whether a signal has told that a dialog is about to be drawn. */
function isTold({ kind, tool }: Reason): boolean {
  return tool !== undefined || kind === 'permission' || kind === 'plan' || kind === 'trust';
}

function shows(screen: readonly string[], reason: Reason): boolean {
  return isSame(withDialog({ kind: 'unknown', message: '' }, screen, true), reason);
}

/** A dialog that was read from the screen: only what stands there is an answer, and none is a yes by its meaning. */
function choiceOf(text: string, { options = [] }: Reason): Answer {
  if (text.trim() === 'deny') return { kind: 'deny' };
  const at = options.findIndex((option) => option.toLowerCase() === text.trim().toLowerCase());
  return { kind: 'text', text: at === -1 ? text : String(at + 1) };
}

function takesNone({ id, life }: SessionRecord, reason: Reason): FairleadError {
  return new FairleadError('answer.nothing-to-answer', `${id} takes no answer now: ${reason.message}`, {
    hint: needHint(id, reason, life),
    data: reason,
  });
}

function asksStill(seen: SessionRecord, now: SessionRecord): boolean {
  return asks(now, seen.need) && now.terminal === seen.terminal;
}

/** Whether this is what the person is needed for. */
export function asks({ agent_fact, reason, need }: SessionRecord, wanted: number): boolean {
  return agent_fact === 'needs-you' && reason !== null && need === wanted;
}

/** The error for an answer to what is not asked any more, which says what is asked instead. */
export function notAsked({ id, agent_fact, reason, need }: SessionRecord): FairleadError {
  if (agent_fact !== 'needs-you' || reason === null) {
    return new FairleadError('answer.nothing-to-answer', `${id} does not ask this any more.`, {
      hint: `See what it does: fairlead show ${id}`,
    });
  }
  const { message } = reason;
  return new FairleadError('answer.need-changed', `${id} asks something else by now: ${message}`, {
    hint: `See the whole of it, then answer that: fairlead show ${id}`,
    data: { need, reason },
  });
}

export function notAnswered(id: string, answer: string, reason: Reason): FairleadError {
  const answers = [...(answersTo(reason) ?? []), ...(takesWhy(reason) ? ['"deny: <why>"'] : [])];
  const options = answers.length === 0 ? '' : ` It takes: ${answers.join(', ')}.`;
  return new FairleadError(
    'answer.nothing-to-answer',
    `"${answer}" does not answer what ${id} asks.${options}`,
    { hint: `Answer in its terminal: fairlead attach ${id}`, data: reason },
  );
}

export async function interruptTurn(keyboard: Keyboard, terminal: string): Promise<void> {
  await keyboard.press(terminal, INTERRUPT);
}

/** `deny: because …` tells the agent why. */
export function answerOf(text: string): Answer {
  if (text === 'allow') return { kind: 'allow' };
  const deny = /^deny(?::\s*(.+))?$/s.exec(text);
  return deny === null ? { kind: 'text', text } : { kind: 'deny', message: deny[1] };
}
