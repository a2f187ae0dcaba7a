import { dialogOptions } from '../agents/claude/dialog.ts';
import { type Answer, answerSteps, INTERRUPT, type KeyStep } from '../agents/claude/keys.ts';
import { sleep } from '../platform/clock.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import type { SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

/** How long a dialog may take to be drawn after the agent has told of it, in milliseconds. */
const DRAWN_WITHIN_MS = 5_000;

const LOOK_EVERY_MS = 100;

/** Presses the keys of a person in the terminal of an agent. */
export class Keyboard {
  readonly #terminals: TerminalHost;

  constructor(terminals: TerminalHost) {
    this.#terminals = terminals;
  }

  /** Rows of the terminal at this moment. */
  async screen(terminal: string): Promise<string[]> {
    return (await this.#terminals.request('screen', { id: terminal })).text;
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
   * Answers the dialog on the screen, which may still be about to be drawn. False when none comes, or when it has no
   * such answer: nothing is pressed then, unless the dialog changed meanwhile.
   */
  async answer(
    terminal: string,
    answer: Answer,
    input: unknown,
    withinMs = DRAWN_WITHIN_MS,
  ): Promise<boolean> {
    for (let waited = 0; ; waited += LOOK_EVERY_MS) {
      const screen = await this.screen(terminal);
      if (dialogOptions(screen).length > 0) {
        const steps = answerSteps(screen, answer, input);
        return steps !== undefined && (await this.press(terminal, steps));
      }
      if (waited >= withinMs) return false;
      await sleep(LOOK_EVERY_MS);
    }
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
 * Answers the dialog that an agent shows.
 * @throws FairleadError `answer.nothing-to-answer` when it shows none, or none that this answers
 */
export async function giveAnswer(keyboard: Keyboard, record: SessionRecord, answer: string): Promise<void> {
  const { id, terminal, reason } = record;
  if (
    terminal === null ||
    record.agent_fact !== 'needs-you' ||
    reason === null ||
    record.life === 'sleeping'
  ) {
    throw new FairleadError('answer.nothing-to-answer', `${id} asks nothing.`, {
      hint: `See what it does: fairlead show ${id}`,
    });
  }
  if (!(await keyboard.answer(terminal, answerOf(answer), reason.input))) {
    throw notAnswered(id, answer, reason);
  }
}

export function notAnswered(id: string, answer: string, reason: Reason): FairleadError {
  const options = reason.options === undefined ? '' : ` It offers: ${reason.options.join(', ')}.`;
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
