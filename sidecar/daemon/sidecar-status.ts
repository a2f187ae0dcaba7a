import { BUILD } from '../platform/build.ts';
import type { Log } from '../platform/log.ts';
import { messageOf } from '../protocol/errors.ts';
import type { SidecarStatus } from '../protocol/protocol.ts';
import type { Fleet } from '../sessions/fleet.ts';
import type { TerminalHost } from '../sessions/terminal-host.ts';
import { memoryOf } from './memory.ts';

export interface StatusSources {
  terminals: TerminalHost;
  fleet: Fleet;
  /** How many clients are connected. */
  clients(): number;
  startedAt: number;
  home: string;
  log: Log;
}

/** What runs, with the terminals as the ptyhost has them now; as it last told where it does not answer. */
export async function readStatus(sources: StatusSources): Promise<SidecarStatus> {
  const { terminals, fleet, log } = sources;
  if (terminals.host !== undefined) {
    await terminals
      .refresh()
      .catch((error: unknown) => log.warn('ptyhost not asked', { error: messageOf(error) }));
  }
  const { host, silent } = terminals;
  const owners = fleet.terminalOwners();
  return {
    sidecar: {
      pid: process.pid,
      version: BUILD.version,
      build: BUILD.id,
      startedAt: sources.startedAt,
      memoryBytes: process.memoryUsage.rss(),
      clients: sources.clients(),
    },
    ptyhost:
      host === undefined
        ? null
        : {
            pid: host.pid,
            version: host.host,
            terminals: terminals.terminals.length,
            memoryBytes: memoryOf(host.pid),
          },
    ptyhostFault: silent === undefined ? null : `${silent.message} ${silent.hint ?? ''}`.trim(),
    home: sources.home,
    sessions: fleet.countStates(),
    terminals: terminals.terminals.map((terminal) => ({
      id: terminal.id,
      session: owners.get(terminal.id)?.session ?? null,
      pane: owners.get(terminal.id)?.pane ?? 'other',
      pid: terminal.pid,
      startedAt: terminal.startedAt,
      running: terminal.exited === undefined,
    })),
  };
}
