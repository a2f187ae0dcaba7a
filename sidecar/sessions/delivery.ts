import { composerText } from '../agents/claude/dialog.ts';
import type { HookEvent } from '../agents/claude/hook-event.ts';
import { clearComposerSteps, promptSteps } from '../agents/claude/keys.ts';
import type { Reason } from '../protocol/reason.ts';
import type { SessionContext } from './context.ts';
import type { Keyboard } from './keyboard.ts';
import type { PromptRecord, SessionRecord } from './record.ts';

/** How long an agent that does nothing may take to confirm a prompt before it is sent again, in milliseconds. */
const CONFIRM_WITHIN_MS = 10_000;

const MAX_TRIES = 2;

/** Whether a prompt may go to the agent at this moment. */
export type Readiness = 'ready' | 'busy' | 'blocked';

/**
 * Brings prompts to an agent, each once: pasted, then Enter, then confirmed by what the agent's hooks tell. One that
 * is not confirmed is sent once more, and never while any signal says that the agent works.
 */
export class Delivery {
  readonly #context: SessionContext;
  readonly #keyboard: Keyboard;

  constructor(context: SessionContext, keyboard: Keyboard) {
    this.#context = context;
    this.#keyboard = keyboard;
  }

  /**
   * Confirms what arrived, and gives the prompts by the name of the event that showed it: an agent may have got them
   * with a space more than they were given with. Runs inside the transaction that keeps the events.
   */
  confirm(session: string, events: readonly HookEvent[]): Map<string, string> {
    const { table } = this.#context;
    const arrived = new Map<string, string>();
    for (const event of events) {
      const prompt = arrivedPrompt(event, table.openPrompts(session));
      if (prompt === undefined) continue;
      table.updatePrompt(prompt.id, { state: 'confirmed', confirmed_at: Math.round(event.at) });
      arrived.set(event.name, prompt.text);
    }
    return arrived;
  }

  /**
   * Sends the next prompt when it is due. Gives the demand for a person when one did not arrive, and milliseconds
   * after which to look again when one is on its way.
   */
  async deliver(
    session: SessionRecord,
    readiness: Readiness,
  ): Promise<{ demand?: Reason; lookAgainMs?: number }> {
    const { table, clock, log } = this.#context;
    const [next] = table.openPrompts(session.id);
    if (next === undefined || readiness !== 'ready' || session.terminal === null) return {};
    const now = clock.now();
    if (next.state === 'sent') {
      const left = (next.sent_at ?? now) + CONFIRM_WITHIN_MS - now;
      if (left > 0) return { lookAgainMs: left };
      if (next.tries >= MAX_TRIES) {
        table.updatePrompt(next.id, { state: 'failed' });
        return {
          demand: {
            kind: 'prompt-undelivered',
            message: `The agent did not take a prompt: ${next.text.split('\n', 1)[0]?.slice(0, 120)}`,
          },
        };
      }
      log.warn('prompt sent again', { session: session.id, prompt: next.id });
    }
    // Stored first: after a crash it counts as sent, and only its missing confirmation sends it again.
    table.updatePrompt(next.id, { state: 'sent', via: 'paste', tries: next.tries + 1, sent_at: now });
    await this.#type(session.terminal, next.text, next.state === 'sent');
    return { lookAgainMs: CONFIRM_WITHIN_MS };
  }

  /** What a person has begun to type is put aside and comes back; what an earlier try left is taken away. */
  async #type(terminal: string, text: string, again: boolean): Promise<void> {
    const composer = composerText(await this.#keyboard.screen(terminal)) ?? '';
    if (again) await this.#keyboard.press(terminal, clearComposerSteps(composer));
    await this.#keyboard.press(terminal, promptSteps(text, again ? '' : composer));
  }
}

/** The prompt that an event shows to have arrived. Other prompts were typed by a person. */
function arrivedPrompt(event: HookEvent, open: readonly PromptRecord[]): PromptRecord | undefined {
  if (event.agentId !== undefined) return undefined;
  const sent = open.filter(({ state }) => state === 'sent');
  if (event.event === 'UserPromptSubmit') {
    return sent.find(({ text }) => sameText(text, event.prompt ?? ''));
  }
  // The command that begins an empty conversation is no prompt to the agent's hooks.
  if (event.event === 'SessionStart' && event.source === 'clear') {
    return sent.find(({ text }) => /^\/(clear|reset|new)\b/.test(text.trim()));
  }
  return undefined;
}

/** White space may change on the way: line ends, tabs, what stands around. */
function sameText(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, '');
}
