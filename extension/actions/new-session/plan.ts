import type { PermissionMode } from '../../../sidecar/protocol/session.ts';
import type { Draft } from '../prompts/drafts.ts';

/** How a session is to be started. Undefined is the person's default. */
export interface Choices {
  base?: string;
  model?: string;
  mode?: PermissionMode;
  attempts: number;
  bringChanges: boolean;
}

/** A session that is to be: its prompt, and what was chosen for it. */
export interface Plan extends Draft {
  folder: string;
  choices: Choices;
  /** The prompt that the choices were made for. */
  chosenFor: string;
}

export function planOf(folder: string): Plan {
  return { text: '', folder, choices: defaultChoices(), chosenFor: '' };
}

/** Forgets what was chosen for another prompt: nobody lets one task do everything for having let another. */
export function forgetOtherChoices(plan: Plan): void {
  if (!isEditOf(plan.text, plan.chosenFor)) plan.choices = defaultChoices();
}

function defaultChoices(): Choices {
  return { attempts: 1, bringChanges: false };
}

/** Whether `text` still begins and ends with half of `earlier`, or more. */
function isEditOf(text: string, earlier: string): boolean {
  const most = Math.min(text.length, earlier.length);
  let begin = 0;
  while (begin < most && text[begin] === earlier[begin]) begin += 1;
  let end = 0;
  while (begin + end < most && text.at(-1 - end) === earlier.at(-1 - end)) end += 1;
  return (begin + end) * 2 >= earlier.length;
}

/** Whether the session starts from another branch than `checkedOut`, which it would take by itself. */
export function isOtherBase({ base }: Choices, checkedOut: string | null): boolean {
  return base !== undefined && base !== checkedOut;
}

/** What was chosen other than the default, in words, in the order of the review. */
export function chosenWords(choices: Choices, checkedOut: string | null): string[] {
  const { base, model, mode, attempts, bringChanges } = choices;
  return [
    isOtherBase(choices, checkedOut) ? `from ${base}` : '',
    model ?? '',
    mode ?? '',
    attempts === 1 ? '' : `${attempts} attempts`,
    bringChanges ? 'with uncommitted changes' : '',
  ].filter((words) => words !== '');
}
