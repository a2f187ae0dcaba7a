import { createHash } from 'node:crypto';
import { claudeConfigDir } from '../agents/claude/transcript-path.ts';
import { isTrusted } from '../agents/claude/trust.ts';
import { messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import { ENTER, ESCAPE } from '../terminals/input.ts';
import type { SessionContext } from './context.ts';
import { agentProgram } from './launching.ts';
import type { SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

/** How often it is looked whether the person has answered, in milliseconds. */
const POLL_MS = 500;

const DEMAND: Reason = {
  kind: 'trust',
  message: 'Do you trust the files in this repository? The agent asks once, in the main checkout.',
  options: ['allow', 'deny'],
};

/** A main checkout that the agent does not trust yet, and the sessions that wait for the person's word. */
interface Question {
  terminal: string;
  sessions: Set<string>;
}

/**
 * Has the agent's own question about trust answered in the main checkout, before the first worktree: a trusted
 * checkout covers its worktrees. Sessions that start together raise one question.
 */
export class TrustGate {
  readonly #context: SessionContext;
  readonly #terminals: TerminalHost;
  readonly #proceed: (session: string) => Promise<void>;
  readonly #questions = new Map<string, Question>();
  #cancelPoll: (() => void) | undefined;

  constructor(context: SessionContext, terminals: TerminalHost, proceed: (session: string) => Promise<void>) {
    this.#context = context;
    this.#terminals = terminals;
    this.#proceed = proceed;
  }

  /**
   * Whether the session has to wait; then it goes on by itself once the question is answered.
   * @throws FairleadError `agent.missing`
   */
  async holds(record: SessionRecord): Promise<boolean> {
    const { table } = this.#context;
    const environment = table.environment(record.environment);
    const { main } = table.repository(record.repository);
    const program = agentProgram(this.#context.configFor(main).agent.command, environment);
    const configDir = claudeConfigDir(environment);
    if (configDir === undefined || isTrusted(configDir, main)) return false;
    const question = this.#questions.get(main) ?? {
      terminal: terminalId(configDir, main),
      sessions: new Set(),
    };
    this.#questions.set(main, question);
    question.sessions.add(record.id);
    table.update(record.id, { demand: DEMAND, agent_fact: 'needs-you', reason: DEMAND });
    await this.#ask(question, main, program, environment);
    this.#poll();
    return true;
  }

  /** The terminal in which the question stands, while the session waits for its answer. */
  terminalFor(record: SessionRecord): string | undefined {
    return this.#questionOf(record)?.terminal;
  }

  /** Answers in the person's name: `allow` accepts, anything else declines. */
  async answer(record: SessionRecord, answer: string): Promise<void> {
    const question = this.#questionOf(record);
    if (question === undefined) return;
    const known = this.#terminals.terminal(question.terminal);
    if (known.kind !== 'known' || known.info.exited !== undefined) {
      await this.holds(record);
    }
    await this.#terminals.request('write', {
      id: question.terminal,
      data: answer === 'allow' ? ENTER : ESCAPE,
    });
    await this.#look();
  }

  forget(session: string): void {
    for (const question of this.#questions.values()) question.sessions.delete(session);
  }

  stop(): void {
    this.#cancelPoll?.();
  }

  async #ask(
    question: Question,
    main: string,
    program: string,
    environment: Record<string, string>,
  ): Promise<void> {
    const known = this.#terminals.terminal(question.terminal);
    if (known.kind === 'known' && known.info.exited !== undefined) {
      await this.#terminals.request('forget', { id: question.terminal });
    }
    await this.#terminals.create({
      id: question.terminal,
      argv: [program],
      cwd: main,
      env: environment,
      cols: 120,
      rows: 40,
    });
  }

  #poll(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    if ([...this.#questions.values()].every(({ sessions }) => sessions.size === 0)) return;
    this.#cancelPoll = this.#context.clock.after(POLL_MS, () => {
      void this.#look().finally(() => this.#poll());
    });
  }

  async #look(): Promise<void> {
    const { table, log } = this.#context;
    for (const [main, question] of [...this.#questions]) {
      const [first] = question.sessions;
      const record = first === undefined ? undefined : table.find(first);
      const configDir = record && claudeConfigDir(table.environment(record.environment));
      if (record !== undefined && !(configDir !== undefined && isTrusted(configDir, main))) continue;
      this.#questions.delete(main);
      await this.#end(question).catch((error: unknown) =>
        log.warn('trust terminal', { error: messageOf(error) }),
      );
      await Promise.all([...question.sessions].map((session) => this.#proceed(session)));
    }
  }

  /** The agent that asked has done its work; it is not to stay in the main checkout. */
  async #end(question: Question): Promise<void> {
    await this.#terminals.request('kill', { id: question.terminal, graceMs: 1_000 });
    for (let waited = 0; waited < 5_000; waited += 50) {
      const known = this.#terminals.terminal(question.terminal);
      if (known.kind !== 'known' || known.info.exited !== undefined) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await this.#terminals.request('forget', { id: question.terminal });
  }

  #questionOf(record: SessionRecord): Question | undefined {
    return [...this.#questions.values()].find(({ sessions }) => sessions.has(record.id));
  }
}

/** Always the same for a checkout and a configuration, so that a later sidecar finds the question where it stands. */
function terminalId(configDir: string, main: string): string {
  const hex = createHash('sha256').update(`trust\0${configDir}\0${main}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
