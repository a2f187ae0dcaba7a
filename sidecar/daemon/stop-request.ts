import { existsSync } from 'node:fs';
import { type Clock, sleep } from '../platform/clock.ts';
import { isAlive } from '../platform/processes.ts';
import { SidecarEnding } from '../protocol/protocol.ts';
import type { MergeQueue } from '../queue/merge-queue.ts';
import type { Fleet } from '../sessions/fleet.ts';
import type { Report } from '../sessions/progress.ts';
import type { TerminalHost } from '../sessions/terminal-host.ts';
import type { Client } from './client.ts';

/** How long the ptyhost is waited for after it was told to end, in milliseconds. */
const END_WITHIN_MS = 5_000;

export interface StopTools {
  clock: Clock;
  ptyhostSocket: string;
  terminals: TerminalHost;
  fleet: Fleet;
  queue: MergeQueue;
  clients(): ReadonlySet<Client>;
  /** Ends the sidecar, and tells `asker` what is waited for. */
  end(asker: Client): void;
}

export interface StopOptions {
  /** The terminals too, with the agents in them. */
  terminals: boolean;
  /** Not while something is under way, or somebody else is connected. */
  onlyIfIdle: boolean;
}

export interface Stopped {
  stopped: boolean;
  /** Terminals that go on. */
  running: number;
  /** Agents that were ended. */
  ended: number;
  orphans: number;
}

/** A client asks the sidecar to end. */
export class StopRequest {
  readonly #tools: StopTools;

  constructor(tools: StopTools) {
    this.#tools = tools;
  }

  /** Resolves before the sidecar ends, so that it can be answered. */
  async run(options: StopOptions, asker: Client, report: Report): Promise<Stopped> {
    const { queue, fleet, clients, end } = this.#tools;
    const others = [...clients()].some((client) => client !== asker);
    if (options.onlyIfIdle && (others || queue.isAtWork || fleet.isAnyInTurn())) {
      return { stopped: false, running: this.#terminalsRunning(), ended: 0, orphans: 0 };
    }
    const ended = options.terminals ? await this.#endTerminals(asker, report) : 0;
    const running = options.terminals ? 0 : this.#terminalsRunning();
    report('Ending the sidecar', 90);
    for (const client of clients()) {
      if (client !== asker) client.notify(SidecarEnding, { waitsFor: [] });
    }
    // After the answer has gone out.
    setTimeout(() => end(asker), 20);
    return { stopped: true, running, ended, orphans: fleet.orphans.size };
  }

  /** @returns how many agents ran */
  async #endTerminals(asker: Client, report: Report): Promise<number> {
    const { terminals, fleet, ptyhostSocket } = this.#tools;
    // What there is to end is known from a ptyhost that has told.
    if (terminals.host !== undefined || existsSync(ptyhostSocket)) await terminals.open();
    const ended = this.#agentsRunning();
    if (ended > 0) {
      asker.notify(SidecarEnding, {
        waitsFor: [ended === 1 ? 'one agent to end' : `${ended} agents to end`],
      });
      report(ended === 1 ? 'Ending one agent' : `Ending ${ended} agents`, 0);
    }
    await fleet.stopAll();
    report('Ending the terminals', 60);
    if (terminals.host !== undefined || existsSync(ptyhostSocket)) {
      await terminals.open();
      const pid = terminals.host?.pid;
      await terminals.shutdown();
      if (pid !== undefined) await this.#gone(pid);
    }
    return ended;
  }

  #terminalsRunning(): number {
    return this.#tools.terminals.terminals.filter(({ exited }) => exited === undefined).length;
  }

  /** Agents of sessions, and those that nobody knows of any more unless they are being ended already. */
  #agentsRunning(): number {
    const { fleet, terminals } = this.#tools;
    const owners = fleet.terminalOwners();
    return terminals.terminals.filter(
      ({ id, exited }) => exited === undefined && owners.get(id)?.pane !== 'shell' && !fleet.orphans.has(id),
    ).length;
  }

  /** Waits until a process has ended, for as long as somebody who waits for the answer would. */
  async #gone(pid: number): Promise<void> {
    const { clock } = this.#tools;
    const start = clock.monotonic();
    while (isAlive(pid) && clock.monotonic() - start < END_WITHIN_MS) await sleep(20);
  }
}
