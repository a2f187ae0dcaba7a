import * as vscode from 'vscode';
import { PERMISSION_MODES } from '../../../sidecar/protocol/modes.ts';
import type { ResultOf } from '../../connection/wire.ts';
import { pickText } from '../../window/pick-text.ts';
import { askStep } from '../../window/step.ts';
import { askInTextBox } from '../../window/text-box.ts';
import { type Choices, chosenWords, isOtherBase, type Plan } from './plan.ts';

type Found = ResultOf<'FindRepository'>;

interface Options {
  /** Whether the prompt was asked for before, so that there is a way back to it. */
  hasPromptStep: boolean;
  /** Ends the review. */
  token: vscode.CancellationToken | undefined;
}

/** How a step of the review ended. `stay` goes on with the review. */
type End = 'stay' | 'left';

type Line = vscode.QuickPickItem & {
  change?: (choices: Choices, token: vscode.CancellationToken | undefined) => Promise<End>;
};

/**
 * Shows how the session will be started; Enter starts it, every line can be changed before. What is chosen is in the
 * plan, whatever the end.
 */
export async function review(
  found: Found,
  plan: Plan,
  { hasPromptStep, token }: Options,
): Promise<'start' | 'back' | 'left'> {
  plan.chosenFor = plan.text;
  for (;;) {
    const line = await askStep({
      title: 'New Session',
      placeholder: oneLine(plan.text),
      items: linesOf(found, plan.choices),
      hasBack: hasPromptStep,
      step: hasPromptStep ? { at: 2, of: 2 } : undefined,
      token,
    });
    if (line === 'back' || line === 'left') return line;
    if (line.change === undefined) return 'start';
    if ((await line.change(plan.choices, token)) === 'left') return 'left';
  }
}

function linesOf(found: Found, choices: Choices): Line[] {
  const { base, model, mode, attempts, bringChanges } = choices;
  const list: Line[] = [
    {
      label: '$(play) Start',
      description: pickText(chosenWords(choices, found.branch).join(', ')) || 'Enter',
    },
    { label: 'How it starts', kind: vscode.QuickPickItemKind.Separator },
    {
      label: '$(git-branch) Base',
      description: marked(
        pickText(base ?? found.branch ?? 'the branch that is checked out'),
        isOtherBase(choices, found.branch),
      ),
      change: (each, token) => pickBase(found, each, token),
    },
    {
      label: '$(symbol-misc) Model',
      description: marked(pickText(model ?? 'default'), model !== undefined),
      change: pickModel,
    },
    {
      label: '$(shield) Permission mode',
      description: marked(mode ?? 'default', mode !== undefined),
      change: pickMode,
    },
    {
      label: '$(versions) Attempts',
      description: marked(attempts === 1 ? 'one' : `${attempts} side by side`, attempts !== 1),
      change: pickAttempts,
    },
  ];
  const count = found.uncommitted.length;
  if (count > 0) {
    const files = count === 1 ? '1 uncommitted file' : `${count} uncommitted files`;
    list.push({
      label: `$(${bringChanges ? 'check' : 'circle-slash'}) Uncommitted changes`,
      description: marked(
        bringChanges ? `${files}: copied into the worktree` : `${files}: stay behind`,
        bringChanges,
      ),
      detail: `      ${pickText(found.uncommitted.slice(0, 4).join(', '))}${count > 4 ? ', …' : ''}`,
      change: async (each) => {
        each.bringChanges = !each.bringChanges;
        return 'stay';
      },
    });
  }
  return list;
}

/** What is not as it would be by itself is to be seen before it starts. */
function marked(value: string, isChosen: boolean): string {
  return isChosen ? `${value} (chosen)` : value;
}

/** Offers `items`; Back leads to the review, as does a pick, which is handed to `take`. */
async function pickOne<Item extends vscode.QuickPickItem>(
  words: { title: string; placeholder: string },
  items: readonly Item[],
  token: vscode.CancellationToken | undefined,
  take: (picked: Item) => End | Promise<End>,
): Promise<End> {
  const picked = await askStep({
    title: words.title,
    placeholder: words.placeholder,
    items,
    hasBack: true,
    token,
  });
  if (picked === 'left') return 'left';
  return picked === 'back' ? 'stay' : take(picked);
}

function pickBase(found: Found, choices: Choices, token: vscode.CancellationToken | undefined): Promise<End> {
  const branches = found.branches.map((branch) => ({
    label: pickText(branch),
    description: branch === found.branch ? 'checked out' : '',
    branch,
  }));
  const words = {
    title: 'Base: where the session starts and lands',
    placeholder: choices.base ?? found.branch ?? '',
  };
  return pickOne(words, branches, token, ({ branch }) => {
    choices.base = branch;
    return 'stay';
  });
}

const MODELS = ['default', 'opus', 'sonnet', 'haiku'];

function pickModel(choices: Choices, token: vscode.CancellationToken | undefined): Promise<End> {
  const items = [
    ...MODELS.map((model) => ({ label: model, model })),
    { label: 'Another…', model: undefined },
  ];
  return pickOne(
    { title: 'Model of the agent', placeholder: choices.model ?? 'default' },
    items,
    token,
    ({ model }) => {
      if (model === undefined) return nameModel(choices, token);
      if (model === 'default') delete choices.model;
      else choices.model = model;
      return 'stay';
    },
  );
}

async function nameModel(choices: Choices, token: vscode.CancellationToken | undefined): Promise<End> {
  const words = { title: 'Model', prompt: 'A name that the agent knows', missing: 'A model has a name.' };
  const end = await askInTextBox(words, {
    text: '',
    hasBack: true,
    token,
  });
  if (end.kind === 'accepted') choices.model = end.text;
  return end.kind === 'left' ? 'left' : 'stay';
}

function pickMode(choices: Choices, token: vscode.CancellationToken | undefined): Promise<End> {
  const items = [
    { label: 'default', description: 'as the repository or your settings say', mode: undefined },
    ...PERMISSION_MODES.map(({ mode, meaning }) => ({ label: mode, description: meaning, mode })),
  ];
  return pickOne(
    { title: 'Permission mode of the agent', placeholder: choices.mode ?? 'default' },
    items,
    token,
    ({ mode }) => {
      if (mode === undefined) delete choices.mode;
      else choices.mode = mode;
      return 'stay';
    },
  );
}

function pickAttempts(choices: Choices, token: vscode.CancellationToken | undefined): Promise<End> {
  const title = 'Attempts: sessions that try it side by side, each on its own branch';
  const items = ['1', '2', '3', '4', '5', '6', '7', '8'].map((label) => ({ label }));
  return pickOne({ title, placeholder: String(choices.attempts) }, items, token, ({ label }) => {
    choices.attempts = Number(label);
    return 'stay';
  });
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 90 ? line : `${line.slice(0, 89)}…`;
}
