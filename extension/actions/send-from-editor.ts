import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';
import { showInformation } from '../window/messages.ts';
import { type AnswerParts, answerAsked } from './answer.ts';
import { deliver, type PromptParts } from './send-prompt.ts';

interface Parts extends AnswerParts, PromptParts {
  connection: Pick<Connection, 'start' | 'request' | 'requestOnce'>;
}

/** Names of editors whose text is for a session that is there; its id. The manifest puts the command on these. */
const FOR_SESSION = /^(Prompt|Denial) for (\w+)( \d+)?\.md$/;

/** Sends the text of the editor that has the focus to its session: as a prompt, or as why it may not do what it asked. */
export async function sendFromEditor(context: Parts): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const name = editor === undefined ? undefined : context.prompts.editors.nameOf(editor.document);
  const [, kind, id] = FOR_SESSION.exec(name ?? '') ?? [];
  if (editor === undefined || id === undefined) {
    await showInformation('This is for an editor that the pencil of Send Prompt or of Answer has opened.');
    return;
  }
  const { editors, needOfEditor, answers } = context.prompts;
  const text = await editors.textOf(editor);
  if (text === undefined) return;
  const session = context.fleet.get(id) ?? (await context.connection.request('ShowSession', { session: id }));
  if (kind === 'Prompt') {
    await editors.send(editor, text, async () => {
      await deliver(context, session, text);
      return true;
    });
    return;
  }
  const need = needOfEditor.get(editor.document.uri.toString());
  if (need === undefined) {
    // After a reload nobody knows what it answered; the question is asked anew, with the text at hand.
    answers.write(`${id} denial`, { text }).type(text);
    await showInformation('What this denies has to be shown again: choose Answer… and Deny, and say why….');
    return;
  }
  await editors.send(editor, text, () => answerAsked(context, { ...session, need }, `deny: ${text}`));
}
