import * as vscode from 'vscode';
import type { Connection } from '../../connection/connection.ts';
import { withProgress } from '../../connection/progress.ts';
import type { ResultOf } from '../../connection/wire.ts';
import type { Repositories } from '../../fleet/repositories.ts';
import { showInformation, showWarning } from '../../window/messages.ts';
import { askForDraft } from '../prompts/draft-box.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { forgetOtherChoices, type Plan, planOf } from './plan.ts';
import { review } from './review.ts';
import { type StartParts, start } from './start.ts';

interface Parts extends StartParts {
  connection: Pick<Connection, 'start' | 'request' | 'requestOnce'>;
  repositories: Pick<Repositories, 'all' | 'choose' | 'findAgain'>;
  prompts: Prompts;
}

const WORDS = {
  title: 'New Session',
  placeholder: 'What shall the agent do?',
  prompt: 'The pencil opens an editor for a long one.',
  missing: 'Say what the agent shall do.',
  step: { at: 1, of: 2 },
};

/** Asks for a prompt and starts a session with it. One that asks already for the same folder goes on here. */
export async function newSession(context: Parts): Promise<void> {
  const folder = await chooseFolder(context);
  if (folder === undefined) return;
  const { plans } = context.prompts;
  const writing = plans.write(folder, planOf(folder));
  const { draft: plan, token } = writing;
  const goOnInEditor = () => openEditor(context.prompts, plan);
  for (let isFirst = true; ; isFirst = false) {
    const end = await askForDraft(WORDS, writing, { hasEditor: true });
    if (end.kind !== 'accepted' && end.kind !== 'editor') return plans.leave(folder, plan);
    // Who comes back from the review changes the prompt that the choices are for.
    if (isFirst) forgetOtherChoices(plan);
    if (end.kind === 'editor') {
      await goOnInEditor();
      plans.take(folder, plan);
      return;
    }
    const found = await findRepository(context, folder);
    if (token.isCancellationRequested) return;
    const reviewed = await review(found, plan, { hasPromptStep: true, token });
    if (reviewed === 'left') return;
    if (reviewed === 'back') continue;
    return plans.send(folder, plan, { send: () => start(context, plan), rescue: goOnInEditor });
  }
}

/** Starts a session with the text of the editor that has the focus. */
export async function newSessionFromEditor(context: Parts): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const { editors, planOfEditor } = context.prompts;
  if (editor === undefined) {
    await showInformation('Write the prompt in an editor first, then start the session with it.');
    return;
  }
  const text = await editors.textOf(editor);
  if (text === undefined) return;
  const uri = editor.document.uri.toString();
  const known = planOfEditor.get(uri);
  const folder = known?.folder ?? (await chooseFolder(context));
  if (folder === undefined) return;
  const plan = { ...structuredClone(known ?? planOf(folder)), text };
  forgetOtherChoices(plan);
  const found = await findRepository(context, folder);
  const reviewed = await review(found, plan, { hasPromptStep: false, token: undefined });
  // As chosen, should it be left or fail.
  planOfEditor.set(uri, plan);
  if (reviewed !== 'start') return;
  await editors.send(editor, text, async () => {
    await start(context, plan);
    // What is written on in an editor of ours is for the same folder.
    if (editors.nameOf(editor.document) !== undefined) planOfEditor.set(uri, planOf(folder));
    else planOfEditor.delete(uri);
    return true;
  });
}

async function openEditor({ editors, planOfEditor }: Prompts, plan: Plan): Promise<void> {
  const uri = await editors.open('Prompt', plan.text);
  planOfEditor.set(uri.toString(), plan);
}

function findRepository(context: Parts, folder: string): Promise<ResultOf<'FindRepository'>> {
  return withProgress('Looking at the repository', (options) =>
    context.connection.request('FindRepository', { folder, uncommitted: true }, options),
  );
}

async function chooseFolder(context: Parts): Promise<string | undefined> {
  await context.connection.start();
  await context.repositories.findAgain();
  const folder = await context.repositories.choose('The repository of the new session');
  if (folder === undefined && context.repositories.all.length === 0) {
    const opened = await showWarning(
      'A session needs a git repository: open a folder of one first.',
      'Open Folder…',
    );
    if (opened !== undefined) await vscode.commands.executeCommand('vscode.openFolder');
  }
  return folder;
}
