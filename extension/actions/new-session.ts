import * as vscode from 'vscode';
import { PERMISSION_MODES } from '../../sidecar/protocol/modes.ts';
import type { PermissionMode, Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { isCancelled } from '../connection/failure.ts';
import { withProgress } from '../connection/progress.ts';
import type { ResultOf } from '../connection/wire.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Repositories } from '../fleet/repositories.ts';
import { askText, showInformation, showWarning } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';

interface Parts {
  connection: Pick<Connection, 'start' | 'request' | 'requestOnce'>;
  fleet: Pick<Fleet, 'get' | 'load'>;
  repositories: Pick<Repositories, 'all' | 'choose' | 'findAgain'>;
  terminals: { show(session: Session, pane: 'agent', preserveFocus?: boolean): void };
}

type Found = ResultOf<'FindRepository'>;

/** How a session is to be started. Undefined is the person's default. */
interface Plan {
  folder: string;
  prompt: string;
  base?: string;
  model?: string;
  mode?: PermissionMode;
  attempts: number;
  bringChanges: boolean;
}

const EDITOR_BUTTON: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon('edit'),
  tooltip: 'Write a long prompt in an editor',
};

/** What was typed and chosen in this window and not started, by the folder: nobody writes a prompt twice. */
const drafts = new Map<string, Plan>();

/** Asks for a prompt and starts a session with it. */
export async function newSession(context: Parts): Promise<void> {
  const folder = await chooseFolder(context);
  if (folder === undefined) return;
  const plan = drafts.get(folder) ?? planOf(folder);
  drafts.set(folder, plan);
  for (;;) {
    const { text, end } = await askPrompt(plan.prompt);
    plan.prompt = text;
    if (end === 'left') return;
    const goOnInEditor = async () => {
      await openPromptEditor(plan);
      drafts.delete(folder);
    };
    if (end === 'editor') return goOnInEditor();
    // Escape at the review goes back to the prompt, which took time to write.
    const ended = await startSession(context, plan, { hasPromptStep: true, failed: goOnInEditor });
    if (ended === 'left') continue;
    drafts.delete(folder);
    return;
  }
}

/** Starts a session with the text of the editor that has the focus. */
export async function newSessionFromEditor(context: Parts): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const prompt = editor?.document.getText().trim() ?? '';
  if (editor === undefined || prompt === '') {
    await showInformation('Write the prompt first, then start the session with it.');
    return;
  }
  const uri = editor.document.uri.toString();
  const known = plansOfEditors.get(uri);
  const folder = known?.folder ?? (await chooseFolder(context));
  if (folder === undefined) return;
  const plan = { ...(known ?? planOf(folder)), prompt };
  // As chosen, should it be left or fail.
  plansOfEditors.set(uri, plan);
  const ended = await startSession(context, plan, { hasPromptStep: false, failed: async () => {} });
  if (ended === 'left') return;
  plansOfEditors.delete(uri);
  if (!editor.document.isUntitled || vscode.window.activeTextEditor !== editor) return;
  // The prompt is in the session by now; closing must not ask whether to save it.
  await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
}

function planOf(folder: string): Plan {
  return { folder, prompt: '', attempts: 1, bringChanges: false };
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

interface Prompt {
  text: string;
  /** Whether the person is done with it, goes on writing it in an editor, or has left it. */
  end: 'done' | 'editor' | 'left';
}

/** Begins with `text`. */
function askPrompt(text: string): Promise<Prompt> {
  const box = vscode.window.createInputBox();
  box.value = text;
  box.title = 'New Session';
  box.step = 1;
  box.totalSteps = 2;
  box.placeholder = 'What shall the agent do?';
  box.prompt = 'The pencil opens an editor for a long one.';
  box.buttons = [EDITOR_BUTTON];
  box.ignoreFocusOut = true;
  return new Promise((resolve) => {
    const answer = (value: Prompt) => {
      resolve(value);
      box.dispose();
    };
    box.onDidAccept(() => {
      if (box.value.trim() !== '') return answer({ text: box.value.trim(), end: 'done' });
      box.validationMessage = 'Say what the agent shall do.';
      return undefined;
    });
    box.onDidChangeValue(() => {
      box.validationMessage = undefined;
    });
    box.onDidTriggerButton(() => answer({ text: box.value, end: 'editor' }));
    box.onDidHide(() => answer({ text: box.value, end: 'left' }));
    box.show();
  });
}

/** What was chosen for prompts that are written in editors, by the URI of these. */
const plansOfEditors = new Map<string, Plan>();

async function openPromptEditor(plan: Plan): Promise<void> {
  const taken = new Set(vscode.workspace.textDocuments.map(({ uri }) => uri.path));
  let name = 'Prompt.md';
  for (let n = 2; taken.has(name); n += 1) name = `Prompt ${n}.md`;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(`untitled:${name}`));
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  plansOfEditors.set(document.uri.toString(), plan);
  if (plan.prompt !== '') await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), plan.prompt));
}

/** Whether the session was started, or the person left before; what they chose is in `plan` in any case. */
async function startSession(
  context: Parts,
  plan: Plan,
  { hasPromptStep, failed }: { hasPromptStep: boolean; failed: () => Promise<void> },
): Promise<'started' | 'left'> {
  const keep = async (error: unknown): Promise<never> => {
    if (!isCancelled(error)) await failed();
    throw error;
  };
  const found = await context.connection
    .request('FindRepository', { folder: plan.folder, uncommitted: true })
    .catch(keep);
  if (!(await review(found, plan, hasPromptStep))) return 'left';
  const made = await withProgress('Starting the session', (options) =>
    context.connection.requestOnce('NewSession', { ...plan, start: true }, options),
  ).catch(keep);
  for (const session of made.attempts)
    if (context.fleet.get(session.id) === undefined) await context.fleet.load();
  if (vscode.workspace.getConfiguration('fairlead').get<boolean>('openTerminalOnStart', true)) {
    const session = context.fleet.get(made.session.id) ?? made.session;
    if (session.state !== 'needs-you') context.terminals.show(session, 'agent', true);
  }
  const notes = [...made.notes];
  if (made.leftBehind > 0) {
    notes.push(
      made.leftBehind === 1
        ? 'One uncommitted change stays in your checkout.'
        : `${made.leftBehind} uncommitted changes stay in your checkout.`,
    );
  }
  if (notes.length > 0) void showInformation(notes.join(' '));
  return 'started';
}

type Choice = vscode.QuickPickItem & { change?: (plan: Plan) => Promise<void> };

/** Shows how the session will be started; Enter starts it, every line can be changed before. False when it was left. */
async function review(found: Found, plan: Plan, hasPromptStep: boolean): Promise<boolean> {
  for (;;) {
    const chosen = await askReview(choices(found, plan), plan.prompt, hasPromptStep);
    if (chosen === undefined) return false;
    if (chosen.change === undefined) return true;
    await chosen.change(plan);
  }
}

/** Undefined for Escape and for Back, which goes to the prompt where that was asked for. */
function askReview(
  items: readonly Choice[],
  prompt: string,
  hasPromptStep: boolean,
): Promise<Choice | undefined> {
  const pick = vscode.window.createQuickPick<Choice>();
  pick.title = 'New Session';
  pick.placeholder = oneLine(prompt);
  pick.items = items;
  pick.ignoreFocusOut = true;
  if (hasPromptStep) {
    pick.step = 2;
    pick.totalSteps = 2;
    pick.buttons = [vscode.QuickInputButtons.Back];
  }
  return new Promise((resolve) => {
    const answer = (chosen: Choice | undefined) => {
      resolve(chosen);
      pick.dispose();
    };
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      if (chosen !== undefined) answer(chosen);
    });
    pick.onDidTriggerButton(() => answer(undefined));
    pick.onDidHide(() => answer(undefined));
    pick.show();
  });
}

function choices(found: Found, plan: Plan): Choice[] {
  const list: Choice[] = [
    { label: '$(play) Start', description: 'Enter' },
    { label: 'How it starts', kind: vscode.QuickPickItemKind.Separator },
    {
      label: '$(git-branch) Base',
      description: pickText(plan.base ?? found.branch ?? 'the branch that is checked out'),
      change: async (each) => pickBase(found, each),
    },
    { label: '$(symbol-misc) Model', description: plan.model ?? 'default', change: pickModel },
    { label: '$(shield) Permission mode', description: plan.mode ?? 'default', change: pickMode },
    {
      label: '$(versions) Attempts',
      description: plan.attempts === 1 ? 'one' : `${plan.attempts} side by side`,
      change: pickAttempts,
    },
  ];
  const count = found.uncommitted.length;
  if (count > 0) {
    const files = count === 1 ? '1 uncommitted file' : `${count} uncommitted files`;
    list.push({
      label: `$(${plan.bringChanges ? 'check' : 'circle-slash'}) Uncommitted changes`,
      description: plan.bringChanges ? `${files}: copied into the worktree` : `${files}: stay behind`,
      detail: `      ${pickText(found.uncommitted.slice(0, 4).join(', '))}${count > 4 ? ', …' : ''}`,
      change: async (each) => {
        each.bringChanges = !each.bringChanges;
      },
    });
  }
  return list;
}

async function pickBase(found: Found, plan: Plan): Promise<void> {
  const picked = await vscode.window.showQuickPick(
    found.branches.map((branch) => ({
      label: pickText(branch),
      description: branch === found.branch ? 'checked out' : '',
      branch,
    })),
    { title: 'Base: where the session starts and lands', placeHolder: plan.base ?? found.branch ?? '' },
  );
  if (picked !== undefined) plan.base = picked.branch;
}

async function pickModel(plan: Plan): Promise<void> {
  const known = ['default', 'opus', 'sonnet', 'haiku'];
  const other = 'Another…';
  const picked = await vscode.window.showQuickPick([...known, other], {
    title: 'Model of the agent',
    placeHolder: plan.model ?? 'default',
  });
  if (picked === undefined) return;
  const model =
    picked === other ? await askText({ title: 'Model', prompt: 'A name that the agent knows' }) : picked;
  if (model === 'default') delete plan.model;
  else if (model !== undefined && model.trim() !== '') plan.model = model.trim();
}

async function pickMode(plan: Plan): Promise<void> {
  const picked = await vscode.window.showQuickPick(
    [
      { label: 'default', description: 'as the repository or your settings say', mode: undefined },
      ...PERMISSION_MODES.map(({ mode, meaning }) => ({ label: mode, description: meaning, mode })),
    ],
    { title: 'Permission mode of the agent', placeHolder: plan.mode ?? 'default' },
  );
  if (picked === undefined) return;
  if (picked.mode === undefined) delete plan.mode;
  else plan.mode = picked.mode;
}

async function pickAttempts(plan: Plan): Promise<void> {
  const picked = await vscode.window.showQuickPick(['1', '2', '3', '4', '5', '6', '7', '8'], {
    title: 'Attempts: sessions that try it side by side, each on its own branch',
    placeHolder: String(plan.attempts),
  });
  if (picked !== undefined) plan.attempts = Number(picked);
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 90 ? line : `${line.slice(0, 89)}…`;
}
