import type * as vscode from 'vscode';
import { showError } from '../window/messages.ts';
import { failureOf, isCancelled, wordsOf } from './failure.ts';

/** Tells the person what went wrong, with what to do next, and the log. What they cancelled is no news. */
export function presentFailure(output: vscode.LogOutputChannel, error: unknown): void {
  if (isCancelled(error)) return;
  const failure = failureOf(error);
  const text = wordsOf(failure);
  output.error(`${failure.code}: ${text}`);
  void showError(text, 'Show Log').then((chosen) => {
    if (chosen !== undefined) output.show();
  });
}
