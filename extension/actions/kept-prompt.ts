import * as vscode from 'vscode';
import { failureOf, isCancelled } from '../connection/failure.ts';

/**
 * Runs what takes a prompt. When that fails the prompt opens in an editor, so that nobody has to write it again; not where
 * the agent has it already.
 */
export async function keepingPrompt<T>(prompt: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isCancelled(error) && failureOf(error).code !== 'prompt.sent') {
      const document = await vscode.workspace.openTextDocument({ content: prompt, language: 'markdown' });
      await vscode.window.showTextDocument(document, { preview: false });
    }
    throw error;
  }
}
