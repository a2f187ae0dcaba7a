import type * as vscode from 'vscode';
import { ExtensionError } from './failure.ts';

/** Gives up waiting for `work` when `token` is cancelled. @throws ExtensionError `cancelled` */
export async function unlessCancelled<T>(work: Promise<T>, token?: vscode.CancellationToken): Promise<T> {
  if (token === undefined) return work;
  const givenUp = Promise.withResolvers<never>();
  const cancel = () => givenUp.reject(new ExtensionError('cancelled', 'Cancelled.'));
  if (token.isCancellationRequested) cancel();
  const listening = token.onCancellationRequested(cancel);
  try {
    return await Promise.race([work, givenUp.promise]);
  } finally {
    listening.dispose();
  }
}
