import * as vscode from 'vscode';
import { showProgress } from '../window/messages.ts';
import type { RequestOptions } from './client.ts';

/** Before this time nothing is shown: what is quick needs no progress. In milliseconds. */
const QUIET_MS = 400;

/**
 * Runs something long behind a notification with what it does and a way to cancel it. The options are to be passed
 * on to the requests that it makes.
 */
export async function withProgress<T>(
  title: string,
  run: (options: RequestOptions) => Promise<T>,
): Promise<T> {
  const cancellation = new vscode.CancellationTokenSource();
  let report: (message: string, percent: number | undefined) => void = () => {};
  let last: [string, number | undefined] | undefined;
  const work = run({
    token: cancellation.token,
    onProgress: (message, percent) => {
      last = [message, percent];
      report(message, percent);
    },
  });
  const quick = await Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    new Promise<false>((resolve) => setTimeout(() => resolve(false), QUIET_MS)),
  ]);
  if (quick) return work;
  return showProgress(title, async (show, token) => {
    token.onCancellationRequested(() => cancellation.cancel());
    let reached = 0;
    report = (message, percent) => {
      const increment = percent === undefined ? undefined : Math.max(0, percent - reached);
      reached = Math.max(reached, percent ?? 0);
      show(message, increment);
    };
    if (last !== undefined) report(...last);
    return work;
  });
}
