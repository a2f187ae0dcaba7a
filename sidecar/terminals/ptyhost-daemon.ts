import { join } from 'node:path';
import { sleep } from '../platform/clock.ts';
import { connectOrStart } from '../platform/daemon-process.ts';
import { cleanEnvironment, type Environment } from '../platform/environment.ts';
import { lockHolder } from '../platform/lock-holder.ts';
import type { NodeRuntime } from '../platform/node-runtime.ts';
import { type Paths, preparePaths } from '../platform/paths.ts';
import { FairleadError } from '../protocol/errors.ts';
import { notAnswering } from '../protocol/not-answering.ts';
import { PtyHostClient } from './ptyhost-client.ts';

export interface PtyHostDaemon {
  paths: Paths;
  /** The bundle folder that holds `ptyhost.js`. Asked for only when a start is due. */
  bundle(): Promise<string>;
  node(): Promise<NodeRuntime>;
  environment: Environment;
  /** Milliseconds without terminal and client after which the ptyhost ends. Default ten minutes. */
  idleMs?: number;
  /** Milliseconds that the ptyhost may take to answer. */
  answerMs?: number;
  /** Name and version of this program, for the host's log. */
  client: string;
}

const MAX_ATTEMPTS = 5;
const RETRY_MS = 50;

/**
 * A control connection to the ptyhost of this home; starts one when there is none.
 * @throws FairleadError `daemon.spawn-failed`, `home.read-only`, `home.socket-path-too-long`, `node.missing`,
 * `daemon.not-answering`, `client.too-new`, `client.too-old`, `ptyhost.lost`
 */
export async function connectPtyHost(daemon: PtyHostDaemon): Promise<PtyHostClient> {
  const { paths } = daemon;
  preparePaths(paths);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await connectOnce(daemon);
    } catch (error) {
      // A host that had just decided to end still accepted the connection; the next one finds another.
      const endedMeanwhile = error instanceof FairleadError && error.code === 'ptyhost.lost';
      if (!endedMeanwhile || attempt === MAX_ATTEMPTS) throw error;
      await sleep(RETRY_MS);
    }
  }
}

async function connectOnce(daemon: PtyHostDaemon): Promise<PtyHostClient> {
  const { paths } = daemon;
  const { socket } = await connectOrStart({
    name: 'ptyhost',
    socket: paths.ptyhostSocket,
    lock: `${paths.ptyhostSocket}.lock`,
    output: join(paths.logs, 'ptyhost.out'),
    command: async () => {
      const node = await daemon.node();
      const idle = daemon.idleMs === undefined ? [] : ['--idle-ms', String(daemon.idleMs)];
      return {
        file: node.file,
        args: [join(await daemon.bundle(), 'ptyhost.js'), '--home', paths.home, ...idle],
        env: { ...cleanEnvironment(daemon.environment), ...node.env },
      };
    },
  });
  try {
    return await PtyHostClient.open(socket, daemon.client, daemon.answerMs);
  } catch (error) {
    if (!(error instanceof FairleadError && error.code === 'daemon.not-answering')) throw error;
    throw notAnswering('ptyhost', lockHolder(paths.ptyhostLock));
  }
}
