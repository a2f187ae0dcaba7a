import { type Answer, answerSteps, INTERRUPT, type KeyStep } from '../agents/claude/keys.ts';
import { sleep } from '../platform/clock.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

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
      await this.#terminals.request('write', { id: terminal, data: step.keys });
      await sleep(step.pauseMs);
    }
    return true;
  }

  /** A redraw may be under way: the text may come within a second. */
  async #shows(terminal: string, text: string): Promise<boolean> {
    for (let waited = 0; waited <= 1_000; waited += 100) {
      if ((await this.screen(terminal)).join('\n').includes(text)) return true;
      await sleep(100);
    }
    return false;
  }
}

/**
 * Answers the dialog that an agent shows.
 * @throws FairleadError `answer.nothing-to-answer` when it shows none, or none that this answers
 */
export async function giveAnswer(keyboard: Keyboard, record: SessionRecord, answer: string): Promise<void> {
  const { terminal, reason } = record;
  if (terminal === null || record.agent_fact !== 'needs-you' || reason === null) {
    throw new FairleadError('answer.nothing-to-answer', `${record.id} asks nothing.`, {
      hint: `See what it does: fairlead show ${record.id}`,
    });
  }
  const steps = answerSteps(await keyboard.screen(terminal), answerOf(answer), reason.input);
  if (steps === undefined || !(await keyboard.press(terminal, steps))) {
    const options = reason.options === undefined ? '' : ` It offers: ${reason.options.join(', ')}.`;
    throw new FairleadError(
      'answer.nothing-to-answer',
      `"${answer}" does not answer what ${record.id} asks.${options}`,
      {
        hint: `Answer in its terminal: fairlead attach ${record.id}`,
        data: reason,
      },
    );
  }
}

export async function interruptTurn(keyboard: Keyboard, terminal: string): Promise<void> {
  await keyboard.press(terminal, INTERRUPT);
}

/** `deny: because …` tells the agent why. */
function answerOf(text: string): Answer {
  if (text === 'allow') return { kind: 'allow' };
  const deny = /^deny(?::\s*(.+))?$/s.exec(text);
  return deny === null ? { kind: 'text', text } : { kind: 'deny', message: deny[1] };
}
