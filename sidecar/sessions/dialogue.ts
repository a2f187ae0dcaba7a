import { sleep } from '../platform/clock.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Pane } from '../protocol/protocol.ts';
import type { ReasonKind } from '../protocol/reason.ts';
import type { Session } from '../protocol/session.ts';
import { asks, giveAnswer, interruptTurn, Keyboard, notAsked } from './keyboard.ts';
import { launchShell } from './launching.ts';
import type { SessionRecord } from './record.ts';
import { takesPrompts } from './signals.ts';
import { type FleetParts, isCancelled, requirePlace, type StartEnd, type Starter } from './starter.ts';

/** How long the agent's signals are waited for after keys were pressed, in milliseconds. */
const SIGNALS_WITHIN_MS = 5_000;

/** Needs that stand in the middle of a turn. */
const IN_TURN: readonly ReasonKind[] = ['permission', 'question', 'plan'];

/** Demands that no prompt answers: the agent gets it once the person has done what is needed. */
const NOT_BY_PROMPT: readonly ReasonKind[] = ['trust', 'worktree-missing'];

/** What passes between a person and an agent: prompts, answers, interruptions, terminals. */
export class Dialogue {
  readonly #parts: FleetParts;
  readonly #starter: Starter;
  readonly #keyboard: Keyboard;

  constructor(parts: FleetParts, starter: Starter) {
    this.#parts = parts;
    this.#starter = starter;
    this.#keyboard = new Keyboard(parts.terminals);
  }

  /**
   * Brings a prompt to the agent, starting it again when it sleeps. Waits while it is on its way; not for the end of
   * a turn that runs, nor for a person. Gives whether the agent has it. Revoked by whoever sent it, it is taken back while
   * nothing of it was given to the agent; a connection that is lost takes nothing back.
   * @throws FairleadError `session.archived`, `agent.missing`, `worktree.broken`, `prompt.undelivered`, `cancelled`: the
   * agent does not get the prompt later then; `prompt.sent`: it was given it before that was revoked
   */
  async send(name: string, text: string, until: StartEnd, requestId?: string): Promise<boolean> {
    const { context, observation, view } = this.#parts;
    const { table } = context;
    const { id, life } = view.living(name);
    const prompt = this.#keep(id, text, requestId);
    context.step?.('prompt-stored');
    if (life === 'sleeping' && this.#isOpen(prompt)) await this.#startFor(prompt, id);
    await observation.look(id);
    await view
      .until(() => this.#isSettled(prompt, id), { signal: until.signal })
      .catch((error: unknown) => {
        if (isCancelled(until.revoked)) {
          if (table.prompt(prompt)?.state !== 'waiting') throw alreadyGiven(id);
          table.updatePrompt(prompt, { state: 'failed' });
        }
        if (!(error instanceof FairleadError && error.code === 'daemon.lost')) throw error;
        throw new FairleadError('daemon.lost', `The sidecar is ending; the prompt for ${id} is kept.`, {
          hint: `It is brought there by the next one. See how it gets on: fairlead show ${id}`,
        });
      });
    const state = table.prompt(prompt)?.state;
    if (state !== 'failed') return state === 'confirmed';
    const { demand } = table.get(id);
    const why = demand?.kind === 'prompt-undelivered' ? demand.message : 'The agent did not take the prompt.';
    throw new FairleadError('prompt.undelivered', why, {
      hint: `See what stands in its terminal before you send it again: fairlead attach ${id}`,
    });
  }

  /** Stores a prompt, or finds it when the same request came before. Gives its id. */
  #keep(session: string, text: string, requestId: string | undefined): string {
    const { table, clock, ids } = this.#parts.context;
    return table.transaction(() => {
      const known = requestId === undefined ? undefined : table.promptOf(requestId);
      if (known !== undefined) return known.id;
      const id = ids.uuid();
      table.addPrompt({
        id,
        session,
        text,
        state: 'waiting',
        via: 'paste',
        tries: 0,
        created_at: clock.now(),
        sent_at: null,
        confirmed_at: null,
        request: requestId ?? null,
      });
      const { demand } = table.get(session);
      const stays = demand !== null && NOT_BY_PROMPT.includes(demand.kind);
      table.update(session, { demand: stays ? demand : null, unread: false });
      return id;
    });
  }

  /** Starts the agent for a prompt. Whoever sent that gets the error and may send it again: it is not kept. */
  async #startFor(prompt: string, session: string): Promise<void> {
    const { table } = this.#parts.context;
    try {
      await this.#starter.resume(session);
    } catch (error) {
      if (this.#isOpen(prompt)) table.updatePrompt(prompt, { state: 'failed' });
      throw error;
    }
  }

  #isOpen(prompt: string): boolean {
    const state = this.#parts.context.table.prompt(prompt)?.state;
    return state === 'waiting' || state === 'sent';
  }

  #isSettled(prompt: string, session: string): boolean {
    const { table } = this.#parts.context;
    if (!this.#isOpen(prompt)) return true;
    const state = table.prompt(prompt)?.state;
    const { agent_fact, life, reason, demand, terminal } = table.get(session);
    // The agent has ended, or waits for somebody: it gets the prompt when that is over. While it is being ended it may
    // take the prompt still.
    if (life === 'sleeping') return !this.#runs(terminal);
    if (demand?.kind === 'trust') return true;
    if (agent_fact === 'needs-you' && !takesPrompts(reason?.kind)) return true;
    return state === 'waiting' && life === 'active' && agent_fact === 'working';
  }

  /**
   * Answers what the agent asks: `allow`, `deny`, `deny: why`, the label or number of a choice, or a text.
   * `need` is what was asked when the person answered; without it, what is asked now.
   * @throws FairleadError `answer.need-changed`, `answer.nothing-to-answer`, `session.archived`
   */
  async answer(name: string, answer: string, need?: number): Promise<void> {
    const { context, view, serial } = this.#parts;
    const record = view.living(name);
    if (need !== undefined && !asks(record, need)) throw notAsked(record);
    if (record.demand?.kind === 'trust') return this.#starter.trust.answer(record, answer);
    await serial.run(`answer ${record.id}`, async () => {
      await giveAnswer(
        this.#keyboard,
        record,
        answer,
        () => context.table.get(record.id),
        () => this.#parts.observation.asked(context.table.get(record.id))?.input,
      );
      await this.#leaves(view.of(record));
    });
  }

  /**
   * Interrupts the turn that runs; none is no error.
   * @throws FairleadError `session.archived`, `session.not-running`
   */
  async interrupt(name: string): Promise<void> {
    const { terminals, view } = this.#parts;
    const { id, terminal } = view.living(name);
    if (terminal === null || terminals.terminal(terminal).kind !== 'known') throw notRunning(id);
    const before = view.show(id);
    const asks =
      before.reason !== null && (before.reason.dialog === true || IN_TURN.includes(before.reason.kind));
    if (before.facts.agent !== 'working' && !asks) return;
    await interruptTurn(this.#keyboard, terminal);
    await this.#leaves(before);
  }

  /** Gives the signals of the agent a moment, so that what is answered is the state after. */
  async #leaves({ id, state, since, need }: Session): Promise<void> {
    const { observation, view } = this.#parts;
    for (let waited = 0; waited < SIGNALS_WITHIN_MS; waited += 100) {
      await observation.look(id);
      const now = view.show(id);
      if (now.state !== state || now.since !== since || now.need !== need) return;
      await sleep(100);
    }
  }

  /**
   * A ticket for the byte stream of a terminal. Starts the agent again when it sleeps, and a shell when there is none.
   * @throws FairleadError `session.archived`, `session.not-running`
   */
  async attach(name: string, pane: Pane): Promise<{ ticket: string; terminal: string }> {
    const record = this.#parts.view.living(name);
    const terminal = pane === 'shell' ? await this.#shellOf(record) : await this.#agentTerminalOf(record);
    const { ticket } = await this.#parts.terminals.request('ticket', { id: terminal });
    return { ticket, terminal };
  }

  async #agentTerminalOf(record: SessionRecord): Promise<string> {
    const { context } = this.#parts;
    const asking = await this.#starter.trust.terminalFor(record);
    if (asking !== undefined) return asking;
    const runs = this.#runs(record.terminal);
    // One that is being put to sleep runs still.
    if (!runs || record.life === 'sleeping') await this.#starter.resume(record.id);
    const { terminal } = context.table.get(record.id);
    if (terminal === null) throw notRunning(record.id);
    return terminal;
  }

  #runs(terminal: string | null): boolean {
    const known = this.#parts.terminals.terminal(terminal);
    return known.kind === 'known' && known.info.exited === undefined;
  }

  #shellOf({ id }: SessionRecord): Promise<string> {
    const { context, terminals, serial } = this.#parts;
    return serial.run(id, async () => {
      const record = requirePlace(context.table.get(id));
      // Whether a shell is there is known only from a ptyhost that answers.
      await terminals.open();
      const known = terminals.terminal(record.shell);
      if (record.shell !== null && known.kind === 'known' && known.info.exited === undefined)
        return record.shell;
      const shell = context.ids.uuid();
      context.table.update(id, { shell });
      await launchShell(context, terminals, record, shell);
      return shell;
    });
  }
}

function alreadyGiven(id: string): FairleadError {
  return new FairleadError(
    'prompt.sent',
    `It is too late to take the prompt back: the agent of ${id} was given it.`,
    {
      hint: `Interrupt its turn: fairlead interrupt ${id}`,
    },
  );
}

function notRunning(id: string): FairleadError {
  return new FairleadError('session.not-running', `The agent of ${id} does not run.`, {
    hint: `Start it: fairlead resume ${id}`,
  });
}
