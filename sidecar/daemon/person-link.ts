import { chmodSync, existsSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Paths } from '../platform/paths.ts';
import { type Deadline, Patience } from '../platform/patience.ts';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { AskPerson } from '../protocol/protocol.ts';
import type { Client } from './client.ts';

/** Questions that hide what is typed. Source: the prompts of OpenSSH and of git's credential helpers. */
const SECRET_QUESTION = /pass(word|phrase|code)|PIN|token|secret/i;

/** How long one question waits for its answer, in milliseconds. */
const ANSWER_WITHIN_MS = 120_000;

/** The variable by which the askpass program shows for whom it asks. */
const TOKEN = 'FAIRLEAD_ASKPASS_TOKEN';

/** A git that has a limit of time, and may ask. */
interface Limited {
  patience: Patience;
  /** Aborted when it is to ask no more. */
  asking: AbortSignal | undefined;
}

/**
 * How git and ssh, started by the sidecar, reach the person: through the ssh agent of the client that came last,
 * under a path that stays, and through an askpass program that puts the question to a client.
 */
export class PersonLink {
  readonly #agentLink: string;
  readonly #askpass: string;
  readonly #token: string;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  readonly #clients: () => Iterable<Client>;
  /** By the token that each was given. */
  readonly #limited = new Map<string, Limited>();
  /** Clients that left a question unanswered: nobody sits there, until they are heard of. */
  readonly #silent = new WeakSet<Client>();

  constructor(
    paths: Paths,
    command: readonly string[],
    { clock, ids, log }: { clock: Clock; ids: Ids; log: Log },
    clients: () => Iterable<Client>,
  ) {
    this.#agentLink = join(paths.run, 'ssh-agent');
    this.#askpass = join(paths.run, 'askpass');
    this.#token = ids.secret();
    this.#clock = clock;
    this.#ids = ids;
    this.#log = log;
    this.#clients = clients;
    const script = `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 FAIRLEAD_HOME=${quoteWord(paths.home)} exec ${command.map(quoteWord).join(' ')} askpass -- "$1"\n`;
    writeFileSync(this.#askpass, script, { mode: 0o700 });
    chmodSync(this.#askpass, 0o700);
  }

  /** Points the stable path at the agent of a client that has one. */
  renewAgent(environment: Readonly<Record<string, string>>): void {
    const socket = environment.SSH_AUTH_SOCK;
    if (socket === undefined || socket === this.#agentLink || !isSocket(socket)) return;
    const draft = `${this.#agentLink}.${process.pid}`;
    try {
      rmSync(draft, { force: true });
      symlinkSync(socket, draft);
      renameSync(draft, this.#agentLink);
    } catch (error) {
      this.#log.warn('ssh agent link not renewed', { error: messageOf(error) });
    }
  }

  /** The stable path of the agent, while it leads to one. */
  get agentSocket(): string | undefined {
    return existsSync(this.#agentLink) ? this.#agentLink : undefined;
  }

  /** A person is at the client: it may be asked. */
  heard(client: Client): void {
    this.#silent.delete(client);
  }

  /** A limit of time for one git, which stands still while that git asks. */
  deadline(ms: number, asking?: AbortSignal): Deadline {
    const token = this.#ids.secret();
    const patience = new Patience(this.#clock, ms);
    this.#limited.set(token, { patience, asking });
    return {
      signal: patience.signal,
      env: { [TOKEN]: token },
      end: () => {
        patience.end();
        this.#limited.delete(token);
      },
    };
  }

  /** Variables for git that may have to ask. */
  environment(): Record<string, string> {
    const agent = this.agentSocket;
    return {
      GIT_ASKPASS: this.#askpass,
      SSH_ASKPASS: this.#askpass,
      SSH_ASKPASS_REQUIRE: 'force',
      [TOKEN]: this.#token,
      ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }),
    };
  }

  /**
   * Puts a question of git or ssh to the clients, the newest first, until one answers. Null when none does within two
   * minutes, and when `asker`, who waits for the answer, aborts.
   */
  async ask(question: string, token: string, asker: AbortSignal): Promise<string | null> {
    const limited = this.#limited.get(token);
    if (limited === undefined && token !== this.#token) return null;
    const over = new AbortController();
    const cancel = this.#clock.after(ANSWER_WITHIN_MS, () =>
      over.abort(new FairleadError('cancelled', 'Nobody answered in time.')),
    );
    const ends = [over.signal, asker, limited?.patience.signal, limited?.asking];
    const signal = AbortSignal.any(ends.filter((each) => each !== undefined));
    const ask = () => this.#askClients(question, signal, over.signal);
    try {
      return await (limited === undefined ? ask() : limited.patience.whileAsking(ask));
    } finally {
      cancel();
    }
  }

  async #askClients(question: string, signal: AbortSignal, late: AbortSignal): Promise<string | null> {
    const secret = SECRET_QUESTION.test(question);
    for (const client of [...this.#clients()].reverse()) {
      if (signal.aborted) return null;
      if (client.info?.answersQuestions !== true || this.#silent.has(client)) continue;
      try {
        const { answer } = await client.ask(AskPerson, { question, secret }, signal);
        if (answer !== null) return answer;
        this.#silent.add(client);
      } catch (error) {
        if (late.aborted) this.#silent.add(client);
        this.#log.info('question not answered', { client: client.info?.name, error: messageOf(error) });
      }
    }
    return null;
  }
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}
