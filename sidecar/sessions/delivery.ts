import { composerText } from '../agents/claude/dialog.ts';
import type { HookEvent } from '../agents/claude/hook-event.ts';
import { clearComposerSteps, promptSteps } from '../agents/claude/keys.ts';
import type { SaidPrompt } from '../agents/claude/said-prompt.ts';
import { sleep } from '../platform/clock.ts';
import type { Reason } from '../protocol/reason.ts';
import { pasteText } from '../terminals/input.ts';
import type { SessionContext } from './context.ts';
import type { Keyboard } from './keyboard.ts';
import type { PromptRecord, SessionRecord } from './record.ts';

/** How long an agent that does nothing may take to confirm a prompt before it is doubted, in milliseconds. */
export const CONFIRM_WITHIN_MS = 10_000;

/** How long it is tried to find out whether a prompt that is doubted was lost, in milliseconds. */
const PROVEN_WITHIN_MS = 20_000;

/** So long after an agent is known to have taken its keys it may take to tell of a prompt, in milliseconds. */
const TOLD_WITHIN_MS = 3_000;

const MAX_TRIES = 2;

/** How long a composer is waited for that something covers, in milliseconds; then it is for a person to uncover it. */
const COMPOSER_WITHIN_MS = 30_000;

/** A composer that has changed within this time is being typed in, in milliseconds. */
const TYPING_MS = 500;

const LOOK_AGAIN_MS = 1_000;

/** So long whoever sends a prompt to an agent that sleeps may take to start it, in milliseconds. */
const STARTED_WITHIN_MS = 10_000;

/** Clocks of transcript and store may differ by so much, in milliseconds. */
const SKEW_MS = 1_000;

/** Whether a prompt may go to the agent at this moment. */
export type Readiness = 'ready' | 'busy' | 'blocked';

export interface Delivered {
  /** What a person is needed for: a prompt did not arrive. */
  demand?: Reason;
  /** When to look again, in milliseconds: a prompt is on its way. */
  lookAgainMs?: number;
}

/**
 * Brings prompts to an agent, each once: pasted, then Enter, then confirmed by what hooks or transcript tell. One that
 * is not confirmed is sent once more when it is proven that the agent did not take it, and never while any signal says
 * that it works: an agent that stalls would find it twice when it goes on.
 */
export class Delivery {
  readonly #context: SessionContext;
  readonly #keyboard: Pick<Keyboard, 'screen' | 'press' | 'isAwake'>;
  /** Since when the agent of a session has been ready without a break. */
  readonly #readySince = new Map<string, number>();
  /** The prompt that is due in a session while something covers the composer, and since when. */
  readonly #covered = new Map<string, { prompt: string; since: number }>();
  /** The prompt of a session that may have been lost, since when, and when its agent was seen to have taken all keys. */
  readonly #doubts = new Map<string, { prompt: string; since: number; awakeAt?: number }>();

  constructor(context: SessionContext, keyboard: Pick<Keyboard, 'screen' | 'press' | 'isAwake'>) {
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
      const prompt =
        arrivedPrompt(event, sentPrompts(table.openPrompts(session))) ??
        arrivedPrompt(event, table.givenUpPrompts(session));
      if (prompt === undefined) continue;
      table.updatePrompt(prompt.id, { state: 'confirmed', confirmed_at: Math.round(event.at) });
      if (event.event === 'SessionEnd' && table.turnCount(session) === 0) {
        table.update(session, { demand: takenForExit(prompt) });
      }
      arrived.set(event.name, prompt.text);
    }
    return arrived;
  }

  /** Confirms what stands in the transcript though no hook has told of it; gives whether there was any. */
  confirmSaid(session: string, said: readonly SaidPrompt[]): boolean {
    const { table } = this.#context;
    let confirmed = false;
    for (const prompt of sentPrompts(table.openPrompts(session))) {
      const found = said.find(
        ({ text, at }) => at >= (prompt.sent_at ?? 0) - SKEW_MS && isSameText(text, prompt.text),
      );
      if (found === undefined) continue;
      table.updatePrompt(prompt.id, { state: 'confirmed', confirmed_at: found.at });
      confirmed = true;
    }
    return confirmed;
  }

  /** A command of the CLI that opened a dialog has arrived: nothing else tells of it. `since`: of the dialog. */
  confirmDialog(session: string, since: number): boolean {
    const { table, clock } = this.#context;
    const opened = sentPrompts(table.openPrompts(session)).filter(
      ({ text, sent_at }) => text.trimStart().startsWith('/') && since >= (sent_at ?? 0) - SKEW_MS,
    );
    for (const { id } of opened) table.updatePrompt(id, { state: 'confirmed', confirmed_at: clock.now() });
    return opened.length > 0;
  }

  /** What a person is needed for when the agent of a session sleeps: a prompt that it did not get. */
  stranded(session: SessionRecord): Reason | undefined {
    const { table, clock } = this.#context;
    // Without a conversation it was never started: the first prompt waits for that.
    if (session.life !== 'sleeping' || table.agentSessions(session.id).length === 0) return undefined;
    const left = table
      .openPrompts(session.id)
      .find(({ text, created_at }) => created_at <= clock.now() - STARTED_WITHIN_MS && !isExit(text));
    return (
      left && {
        kind: 'prompt-undelivered',
        message: `The agent ended before it got a prompt, and gets it when it is started again: ${beginning(left)}`,
      }
    );
  }

  /** Sends the next prompt when it is due. */
  async deliver(session: SessionRecord, readiness: Readiness): Promise<Delivered> {
    const { table, clock, log } = this.#context;
    const now = clock.now();
    if (readiness !== 'ready' || session.terminal === null) {
      this.#readySince.delete(session.id);
      this.#covered.delete(session.id);
      this.#doubts.delete(session.id);
      return {};
    }
    const readySince = this.#readySince.get(session.id) ?? now;
    this.#readySince.set(session.id, readySince);
    const [next] = table.openPrompts(session.id);
    if (next === undefined) return {};
    const again = next.state === 'sent';
    if (again) {
      // An agent that has just become ready may still be about to take what it was started with.
      const left = Math.max(next.sent_at ?? 0, readySince) + CONFIRM_WITHIN_MS - now;
      if (left > 0) return { lookAgainMs: left };
      if (next.tries >= MAX_TRIES) return this.#giveUp(next, undelivered(next));
      const doubted = await this.#doubt(session.id, session.terminal, next);
      if (doubted !== 'lost') return doubted;
    }
    const composer = await this.#quietComposer(session.terminal);
    // What covers it would take the text as keys.
    if (composer === undefined) return this.#waitForComposer(session.id, next);
    this.#covered.delete(session.id);
    if (composer === 'typing') return { lookAgainMs: LOOK_AGAIN_MS };
    // Somebody has taken it over: behind it stands more.
    if (again && isMoreThan(composer.text, next.text)) return this.#giveUp(next, undelivered(next));
    this.#doubts.delete(session.id);
    if (again) log.warn('prompt sent again', { session: session.id, prompt: next.id });
    // Whoever sent it may have taken it back meanwhile.
    if (table.prompt(next.id)?.state !== next.state) return { lookAgainMs: 0 };
    // Stored first: after a crash it counts as sent, and only its missing confirmation sends it again.
    table.updatePrompt(next.id, { state: 'sent', via: 'paste', tries: next.tries + 1, sent_at: clock.now() });
    this.#context.step?.('prompt-sent');
    await this.#type(session.terminal, next.text, { composer: composer.text, again });
    this.#context.step?.('prompt-typed');
    return { lookAgainMs: CONFIRM_WITHIN_MS };
  }

  /** `lost`: the agent has taken all its keys, and of this prompt nothing came. */
  async #doubt(session: string, terminal: string, prompt: PromptRecord): Promise<Delivered | 'lost'> {
    const { clock, log } = this.#context;
    const known = this.#doubts.get(session);
    const doubt = known?.prompt === prompt.id ? known : { prompt: prompt.id, since: clock.now() };
    if (doubt !== known) log.info('prompt doubted', { session, prompt: prompt.id });
    this.#doubts.set(session, doubt);
    if (doubt.awakeAt !== undefined) {
      const left = doubt.awakeAt + TOLD_WITHIN_MS - clock.now();
      return left > 0 ? { lookAgainMs: left } : 'lost';
    }
    if (await this.#keyboard.isAwake(terminal)) {
      doubt.awakeAt = clock.now();
      return { lookAgainMs: TOLD_WITHIN_MS };
    }
    if (clock.now() - doubt.since < PROVEN_WITHIN_MS) return { lookAgainMs: LOOK_AGAIN_MS };
    this.#doubts.delete(session);
    return this.#giveUp(prompt, {
      kind: 'prompt-undelivered',
      message: `The agent does not stir; it may have a prompt that was typed and take it when it goes on: ${beginning(prompt)}`,
    });
  }

  #waitForComposer(session: string, prompt: PromptRecord): Delivered {
    const now = this.#context.clock.now();
    const known = this.#covered.get(session);
    const since = known?.prompt === prompt.id ? known.since : now;
    if (now - since >= COMPOSER_WITHIN_MS) {
      this.#covered.delete(session);
      return this.#giveUp(prompt, undelivered(prompt));
    }
    this.#covered.set(session, { prompt: prompt.id, since });
    return { lookAgainMs: LOOK_AGAIN_MS };
  }

  #giveUp(prompt: PromptRecord, demand: Reason): Delivered {
    this.#context.table.updatePrompt(prompt.id, { state: 'failed' });
    return { demand };
  }

  /** What stands in the composer and is not being typed at the moment; undefined when something covers it. */
  async #quietComposer(terminal: string): Promise<{ text: string } | 'typing' | undefined> {
    const text = composerText(await this.#keyboard.screen(terminal));
    if (text === undefined || text === '') return text === undefined ? undefined : { text };
    await sleep(TYPING_MS);
    return composerText(await this.#keyboard.screen(terminal)) === text ? { text } : 'typing';
  }

  /** What a person has begun to type is put aside and comes back; what an earlier try left is taken away. */
  async #type(
    terminal: string,
    text: string,
    { composer, again }: { composer: string; again: boolean },
  ): Promise<void> {
    const isLeft = again && isPartOf(composer, text);
    if (isLeft) await this.#keyboard.press(terminal, clearComposerSteps('\n'.repeat(rowsOf(text))));
    const steps = promptSteps(text, isLeft ? '' : composer);
    await this.#keyboard.press(terminal, steps.slice(0, -1));
    this.#context.step?.('prompt-pasted');
    await this.#keyboard.press(terminal, steps.slice(-1));
  }
}

function undelivered(prompt: PromptRecord): Reason {
  return { kind: 'prompt-undelivered', message: `The agent did not take a prompt: ${beginning(prompt)}` };
}

/**
 * A session whose first prompt ended its agent has done nothing. Whoever sends that to an agent which has worked means its
 * end.
 */
function takenForExit(prompt: PromptRecord): Reason {
  return {
    kind: 'agent-ended',
    message: `Claude Code took the prompt "${beginning(prompt).trim()}" for its own command and ended; the agent was not asked anything.`,
  };
}

function beginning({ text }: PromptRecord): string {
  return text.split('\n', 1)[0]?.slice(0, 120) ?? '';
}

/** At least as many rows as `text` takes in a composer. */
function rowsOf(text: string): number {
  return text.split('\n').reduce((rows, line) => rows + 1 + Math.ceil(line.length / 40), 0);
}

function sentPrompts(open: readonly PromptRecord[]): PromptRecord[] {
  return open.filter(({ state }) => state === 'sent');
}

const EXIT = /^\/?(exit|quit)$/;

/** Whether a prompt is the command that ends the agent. */
export function isExit(text: string): boolean {
  return EXIT.test(text.trim());
}

/** Commands that are no prompt to the agent's hooks, by the events that they make. */
const COMMANDS = [
  { event: 'SessionStart', source: 'clear', text: /^\/(clear|reset|new)\b/ },
  { event: 'SessionStart', source: 'compact', text: /^\/compact\b/ },
  { event: 'SessionStart', source: 'resume', text: /^\/resume\b/ },
  { event: 'SessionEnd', source: undefined, text: EXIT },
];

/** The prompt that an event shows to have arrived. Other prompts were typed by a person. */
function arrivedPrompt(event: HookEvent, sent: readonly PromptRecord[]): PromptRecord | undefined {
  if (event.agentId !== undefined) return undefined;
  if (event.event === 'UserPromptSubmit') {
    return sent.find(({ text }) => isSameText(text, event.prompt ?? ''));
  }
  const command = COMMANDS.find((each) => each.event === event.event && each.source === event.source);
  return command && sent.find(({ text }) => command.text.test(text.trim()));
}

/**
 * Texts change on the way: line ends, tabs, what stands around; a paste loses escape sequences whole, what goes along
 * as an argument perhaps only their control characters.
 */
function isSameText(one: string, other: string): boolean {
  return plain(one) === plain(other) || bare(one) === bare(other);
}

/** A composer shows a part of a long text only. */
function isPartOf(composer: string, text: string): boolean {
  return plain(composer) !== '' && plain(text).includes(plain(composer));
}

/** The whole of `text` stands in a composer, and more. */
function isMoreThan(composer: string, text: string): boolean {
  return plain(composer) !== plain(text) && plain(composer).includes(plain(text));
}

function plain(text: string): string {
  return bare(pasteText(text));
}

/** The agent composes letters; half a surrogate pair does not outlive the way to it. */
function bare(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, '');
}
