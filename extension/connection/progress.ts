import * as vscode from 'vscode';
import { showProgress } from '../window/messages.ts';
import { unlessCancelled } from './cancellation.ts';
import type { RequestOptions } from './client.ts';
import type { Connection } from './connection.ts';

/** Before this time nothing is shown: what is quick needs no progress. In milliseconds. */
const QUIET_MS = 400;

/**
 * What Cancel does. `takes-back`: the sidecar is told, and what it has come to by then is awaited. `ends-waiting`: for what
 * changes nothing, whose answer nobody waits for any more. `none`: it could do nothing, and is not offered.
 */
export type Cancel = 'takes-back' | 'ends-waiting' | 'none';

/**
 * Runs something long behind a notification with what it does and a way to cancel it. The options are to be passed
 * on to the requests that it makes.
 * @throws what `run` does; ExtensionError `cancelled`
 */
export async function withProgress<T>(
  title: string,
  run: (options: RequestOptions) => Promise<T>,
  cancel: Cancel = 'takes-back',
): Promise<T> {
  const cancellation = new vscode.CancellationTokenSource();
  let report: (message: string, percent: number | undefined) => void = () => {};
  let last: [string, number | undefined] | undefined;
  const running = run({
    token: cancellation.token,
    onProgress: (message, percent) => {
      last = [message, percent];
      report(message, percent);
    },
  });
  const work = cancel === 'ends-waiting' ? unlessCancelled(running, cancellation.token) : running;
  const quick = await Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    new Promise<false>((resolve) => setTimeout(() => resolve(false), QUIET_MS)),
  ]);
  if (quick) return work;
  const isCancellable = cancel !== 'none';
  return showProgress(
    title,
    async (show, token) => {
      token.onCancellationRequested(() => cancellation.cancel());
      let reached = 0;
      report = (message, percent) => {
        const increment = percent === undefined ? undefined : Math.max(0, percent - reached);
        reached = Math.max(reached, percent ?? 0);
        show(message, increment);
      };
      if (last !== undefined) report(...last);
      return work;
    },
    isCancellable,
  );
}

/** Connects, or starts the sidecar, which may take a minute. @throws ExtensionError why it could not be; `cancelled` */
export async function connectWithProgress(connection: Pick<Connection, 'start'>): Promise<void> {
  await withProgress('Connecting to the sidecar', () => connection.start(), 'ends-waiting');
}
