import * as vscode from 'vscode';
import { isCancelled } from '../connection/failure.ts';

/** Runs what takes a prompt. When that fails the prompt opens in an editor, so that nobody has to write it again. */
export async function keepingPrompt<T>(prompt: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isCancelled(error)) {
      const document = await vscode.workspace.openTextDocument({ content: prompt, language: 'markdown' });
      await vscode.window.showTextDocument(document, { preview: false });
    }
    throw error;
  }
}
