import { chmodSync, existsSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Paths } from '../platform/paths.ts';
import type { Patience } from '../platform/patience.ts';
import { quoteWord } from '../platform/shell.ts';
import { messageOf } from '../protocol/errors.ts';
import { AskPerson } from '../protocol/protocol.ts';
import type { Client } from './client.ts';

/** Questions that hide what is typed. Source: the prompts of OpenSSH and of git's credential helpers. */
const SECRET_QUESTION = /pass(word|phrase|code)|PIN|token|secret/i;

/**
 * How git and ssh, started by the sidecar, reach the person: through the ssh agent of the client that came last,
 * under a path that stays, and through an askpass program that puts the question to a client.
 */
export class PersonLink {
  readonly #agentLink: string;
  readonly #askpass: string;
  readonly #token: string;
  readonly #log: Log;
  readonly #patience: Patience;
  readonly #clients: () => Iterable<Client>;

  constructor(
    paths: Paths,
    command: readonly string[],
    { ids, log, patience }: { ids: Ids; log: Log; patience: Patience },
    clients: () => Iterable<Client>,
  ) {
    this.#agentLink = join(paths.run, 'ssh-agent');
    this.#askpass = join(paths.run, 'askpass');
    this.#token = ids.secret();
    this.#log = log;
    this.#patience = patience;
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

  /** Variables for git that may have to ask. */
  environment(): Record<string, string> {
    const agent = this.agentSocket;
    return {
      GIT_ASKPASS: this.#askpass,
      SSH_ASKPASS: this.#askpass,
      SSH_ASKPASS_REQUIRE: 'force',
      FAIRLEAD_ASKPASS_TOKEN: this.#token,
      ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }),
    };
  }

  /** Puts a question of git or ssh to the clients, the newest first, until one answers. Null when none does. */
  async ask(question: string, token: string): Promise<string | null> {
    if (token !== this.#token) return null;
    const secret = SECRET_QUESTION.test(question);
    for (const client of [...this.#clients()].reverse()) {
      if (client.info?.answersQuestions !== true) continue;
      try {
        const { answer } = await this.#patience.whileAsking(() =>
          client.ask(AskPerson, { question, secret }),
        );
        if (answer !== null) return answer;
      } catch (error) {
        this.#log.info('question not answered', { client: client.info?.name, error: messageOf(error) });
      }
    }
    return null;
  }
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}
