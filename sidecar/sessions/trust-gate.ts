import { createHash } from 'node:crypto';
import { startupReason } from '../agents/claude/startup-screen.ts';
import { claudeConfigDir } from '../agents/claude/transcript-path.ts';
import { isTrusted } from '../agents/claude/trust.ts';
import { sleep } from '../platform/clock.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import type { SessionContext } from './context.ts';
import { answerOf, Keyboard, notAnswered } from './keyboard.ts';
import { agentProgram } from './launching.ts';
import type { SessionRecord } from './record.ts';
import { Serial } from './serial.ts';
import type { TerminalHost } from './terminal-host.ts';

/** How often it is looked whether the person has answered, in milliseconds. */
const POLL_MS = 500;

/** How long the agent may take to show its question, in milliseconds: it may have to be started for it. */
const DRAWN_WITHIN_MS = 30_000;

/** How long the agent may take to note the answer, in milliseconds. */
const NOTED_WITHIN_MS = 10_000;

const DEMAND: Reason = {
  kind: 'trust',
  message: 'Do you trust the files in this repository? Asked once for each repository.',
  options: ['allow', 'deny'],
};

/** A main checkout that an agent does not trust yet, and the sessions that wait for the person's word. */
interface Question {
  terminal: string;
  main: string;
  configDir: string;
  sessions: Set<string>;
}

/**
 * Has the agent's own question about trust answered in the main checkout, before the first worktree: a trusted
 * checkout covers its worktrees. Sessions that start together raise one question.
 */
export class TrustGate {
  readonly #context: SessionContext;
  readonly #terminals: TerminalHost;
  readonly #keyboard: Keyboard;
  readonly #proceed: (session: string) => Promise<void>;
  /** By terminal. */
  readonly #questions = new Map<string, Question>();
  /** One thing at a time with each terminal. */
  readonly #serial = new Serial();
  #cancelPoll: (() => void) | undefined;

  /** `proceed`: the question is answered, the session goes on. */
  constructor(context: SessionContext, terminals: TerminalHost, proceed: (session: string) => Promise<void>) {
    this.#context = context;
    this.#terminals = terminals;
    this.#keyboard = new Keyboard(terminals);
    this.#proceed = proceed;
  }

  /**
   * Whether the session has to wait, with a demand; then it goes on by itself once the question is answered.
   * @throws FairleadError `agent.missing`
   */
  async holds(record: SessionRecord): Promise<boolean> {
    const { table } = this.#context;
    const { main } = table.repository(record.repository);
    const configDir = claudeConfigDir(table.environment(record.environment));
    if (configDir === undefined) return false;
    const terminal = terminalId(configDir, main);
    if (isTrusted(configDir, main)) {
      // It was answered while no sidecar was there to see it.
      if (!this.#questions.has(terminal)) await this.#end(terminal);
      return false;
    }
    const question = this.#questions.get(terminal) ?? { terminal, main, configDir, sessions: new Set() };
    this.#questions.set(terminal, question);
    question.sessions.add(record.id);
    try {
      await this.#ask(question, record);
    } catch (error) {
      await this.forget(record.id);
      throw error;
    }
    // When it was answered meanwhile the session goes on already, or it was forgotten: nobody would withdraw the demand.
    if (this.#questions.get(terminal) === question && question.sessions.has(record.id)) {
      table.update(record.id, { demand: DEMAND });
      this.#poll();
    }
    return true;
  }

  /** The terminal in which the question stands, while the session waits for its answer. Asks again if need be. */
  async terminalFor(record: SessionRecord): Promise<string | undefined> {
    const question = this.#questionOf(record);
    if (question !== undefined) await this.#ask(question, record);
    return question?.terminal;
  }

  /**
   * Answers in the person's name: `allow` or `deny`.
   * @throws FairleadError `answer.nothing-to-answer`
   */
  async answer(record: SessionRecord, answer: string): Promise<void> {
    const question = this.#questionOf(record);
    if (question === undefined) return;
    await this.#ask(question, record);
    await this.#serial.run(`answer ${question.terminal}`, async () => {
      // Somebody else may have answered meanwhile.
      if (!isOpen(question)) return;
      const given = await this.#keyboard.answer(question.terminal, answerOf(answer), {
        input: null,
        asked: () => isOpen(question) && this.#runs(question.terminal),
        comesBefore: isBeforeTrust,
        withinMs: DRAWN_WITHIN_MS,
      });
      if (!given && isOpen(question)) throw await this.#failure(question.terminal, record.id, answer);
      for (let waited = 0; waited < NOTED_WITHIN_MS; waited += 100) {
        if (!isOpen(question) || !this.#runs(question.terminal)) break;
        await sleep(100);
      }
    });
    await this.#look();
  }

  /** Why there was nothing to answer: the agent asks other things before, or could not ask at all. */
  async #failure(terminal: string, session: string, answer: string): Promise<FairleadError> {
    const before = startupReason(await this.#keyboard.screen(terminal));
    const isRunning = this.#runs(terminal);
    if (isRunning && before?.kind !== 'login') return notAnswered(session, answer, DEMAND);
    const what =
      before?.kind === 'login'
        ? before.message
        : 'Claude Code ended before it could ask whether you trust the repository.';
    return new FairleadError('answer.nothing-to-answer', what, {
      hint: `See to that in its terminal, then answer again: fairlead attach ${session}`,
      data: DEMAND,
    });
  }

  /** The session waits no longer, whatever the answer. */
  async forget(session: string): Promise<void> {
    for (const question of [...this.#questions.values()]) {
      if (!question.sessions.delete(session) || question.sessions.size > 0) continue;
      this.#questions.delete(question.terminal);
      await this.#end(question.terminal);
    }
  }

  stop(): void {
    this.#cancelPoll?.();
  }

  /** Starts the agent in the main checkout, where it asks. One that stands there is left alone. */
  async #ask({ terminal, main }: Question, record: SessionRecord): Promise<void> {
    const environment = this.#context.table.environment(record.environment);
    const program = agentProgram(this.#context.configFor(main).agent.command, environment);
    await this.#serial.run(terminal, async () => {
      await this.#terminals.open();
      if (this.#runs(terminal)) return;
      await this.#terminals.request('forget', { id: terminal });
      await this.#terminals.create({
        id: terminal,
        argv: [program],
        cwd: main,
        env: environment,
        cols: 120,
        rows: 40,
      });
    });
  }

  #runs(terminal: string): boolean {
    const known = this.#terminals.terminal(terminal);
    return known.kind === 'known' && known.info.exited === undefined;
  }

  #poll(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    if (this.#questions.size === 0) return;
    this.#cancelPoll = this.#context.clock.after(POLL_MS, () => {
      void this.#look().finally(() => this.#poll());
    });
  }

  async #look(): Promise<void> {
    for (const question of [...this.#questions.values()]) {
      if (isOpen(question)) continue;
      if (!this.#questions.delete(question.terminal)) continue;
      await this.#end(question.terminal);
      await Promise.all([...question.sessions].map((session) => this.#proceed(session)));
    }
  }

  /** The agent that asked has done its work; it is not to stay in the main checkout. */
  async #end(terminal: string): Promise<void> {
    await this.#serial
      .run(terminal, async () => {
        // Nothing to end is no reason to start a ptyhost.
        if (this.#terminals.terminal(terminal).kind !== 'known') return;
        await this.#terminals.end(terminal, { graceMs: 1_000 });
      })
      .catch((error: unknown) =>
        this.#context.log.warn('trust terminal not ended', { error: messageOf(error) }),
      );
  }

  #questionOf(record: SessionRecord): Question | undefined {
    return [...this.#questions.values()].find(({ sessions }) => sessions.has(record.id));
  }
}

/** Whether the agent shows what comes before its question: its first-run screens, a sign-in. */
function isBeforeTrust(screen: readonly string[]): boolean {
  return startupReason(screen)?.kind === 'login';
}

function isOpen({ configDir, main }: Question): boolean {
  return !isTrusted(configDir, main);
}

/** Always the same for a checkout and a configuration, so that a later sidecar finds the question where it stands. */
function terminalId(configDir: string, main: string): string {
  const hex = createHash('sha256').update(`trust\0${configDir}\0${main}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
