import type { HookEvent } from '../agents/claude/hook-event.ts';
import { sleep } from '../platform/clock.ts';
import type { Reason } from '../protocol/reason.ts';
import { bracketedPaste, ENTER } from '../terminals/input.ts';
import type { SessionContext } from './context.ts';
import type { PromptRecord, SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

/** Between the end of a paste and Enter, in milliseconds: in one write the agent takes Enter as part of the paste. */
const ENTER_AFTER_MS = 400;

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
  readonly #terminals: TerminalHost;

  constructor(context: SessionContext, terminals: TerminalHost) {
    this.#context = context;
    this.#terminals = terminals;
  }

  /** Confirms what arrived. Runs inside the transaction that keeps the events. */
  confirm(session: string, events: readonly HookEvent[]): void {
    const { table } = this.#context;
    for (const event of events) {
      const arrived = arrivedPrompt(event, table.openPrompts(session));
      if (arrived !== undefined) {
        table.updatePrompt(arrived.id, { state: 'confirmed', confirmed_at: Math.round(event.at) });
      }
    }
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
    await this.#paste(session.terminal, next.text, next.state === 'sent');
    return { lookAgainMs: CONFIRM_WITHIN_MS };
  }

  async #paste(terminal: string, text: string, clearFirst: boolean): Promise<void> {
    if (clearFirst) {
      await this.#terminals.request('write', { id: terminal, data: CLEAR_COMPOSER });
      await sleep(ENTER_AFTER_MS);
    }
    await this.#terminals.request('write', { id: terminal, data: bracketedPaste(text) });
    await sleep(ENTER_AFTER_MS);
    await this.#terminals.request('write', { id: terminal, data: ENTER });
  }
}

/** Ctrl-U: takes away what stands in the composer. */
const CLEAR_COMPOSER = '\u0015';

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
