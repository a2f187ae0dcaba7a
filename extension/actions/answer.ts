import * as vscode from 'vscode';
import { takesWhy } from '../../sidecar/protocol/answers.ts';
import type { Reason } from '../../sidecar/protocol/reason.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { stateWords } from '../../sidecar/protocol/wording.ts';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../connection/failure.ts';
import { withProgress } from '../connection/progress.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { NeedsInHand } from '../fleet/needs-in-hand.ts';
import { commandOf, nextSteps, takesAnswer } from '../fleet/next-steps.ts';
import { nameOf, shortNameOf } from '../fleet/session-name.ts';
import { showInformation } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';
import { askInOwnWords, askWhyNot, forgetAnswers } from './own-words.ts';
import type { Prompts } from './prompts/prompts.ts';
import { proposalOf } from './proposal.ts';
import type { TextDocuments } from './text-documents.ts';

export interface AnswerParts {
  connection: Pick<Connection, 'request'>;
  fleet: Fleet;
  needsInHand: Pick<NeedsInHand, 'take'>;
  documents: Pick<TextDocuments, 'put'>;
  prompts: Prompts;
  terminals: { show(session: Session, pane: 'agent', preserveFocus?: boolean): void };
}

type SendParts = Pick<AnswerParts, 'connection' | 'fleet' | 'needsInHand'>;

/** Shows in full what an agent asks, takes the person's answer and gives it. */
export async function answer(context: AnswerParts, session: Session): Promise<void> {
  const { reason, need } = await withProgress(
    'Reading what is asked',
    () => context.connection.request('ShowNeed', { session: session.id }),
    'ends-waiting',
  );
  if (reason === null || need === null) {
    await showInformation(`"${shortNameOf(session)}" asks nothing.`);
    return;
  }
  context.needsInHand.take(session.id, need);
  if (!takesAnswer(reason)) return offerSteps(session, reason);
  const close = await showInput(context, session, reason);
  try {
    const text = await ask(context, session, reason, need);
    if (text === undefined) return;
    if (await send(context, session, { answer: text, need })) forgetAnswers(context.prompts, session.id);
  } finally {
    await close();
  }
}

/** What no answer helps with is offered what does, as its notification offers it. */
async function offerSteps(session: Session, reason: Reason): Promise<void> {
  const steps = nextSteps(reason, session.queue);
  const picked = await vscode.window.showQuickPick(steps, {
    title: nameOf(session),
    placeHolder: reason.message,
    ignoreFocusOut: true,
  });
  const step = steps.find((each) => each === picked);
  const command = step === undefined ? undefined : commandOf(step);
  if (command !== undefined) await vscode.commands.executeCommand(command, session.id);
}

/** Gives an answer to what `session` asked when it was read: what it asks by now is refused. */
export async function giveAnswer(context: SendParts, session: Session, text: string): Promise<void> {
  await answerAsked(context, session, text);
}

/** As {@link giveAnswer}; false for what was answered already, which is said. */
export async function answerAsked(context: SendParts, session: Session, text: string): Promise<boolean> {
  const { need } = session;
  context.needsInHand.take(session.id, need);
  return send(context, session, { answer: text, ...(need === null ? {} : { need }) });
}

/** Says that what `session` asked when it was read is asked no more: it was answered elsewhere. */
export function showAlreadyAnswered({ fleet }: Pick<AnswerParts, 'fleet'>, session: Session): void {
  const now = fleet.get(session.id);
  const state = now === undefined ? 'archived' : stateWords(now);
  void showInformation(
    `Answered already, so nothing was done: "${shortNameOf(session)}" is ${state} by now.`,
  );
}

async function send(
  context: SendParts,
  session: Session,
  answer: { answer: string; need?: number },
): Promise<boolean> {
  try {
    // The keys are pressed at once; how the agent takes them is waited for.
    await withProgress(
      'Giving the answer',
      () => context.connection.request('Answer', { session: session.id, ...answer }),
      'none',
    );
    return true;
  } catch (error) {
    const now = context.fleet.get(session.id);
    const isAsked = now?.state === 'needs-you' && now.need === answer.need;
    const { code } = failureOf(error);
    const isLate = code === 'answer.need-changed' || (code === 'answer.nothing-to-answer' && !isAsked);
    // What it does not take as an answer is another matter.
    if (!isLate) throw error;
    showAlreadyAnswered(context, session);
    return false;
  }
}

async function ask(
  { prompts, terminals }: Pick<AnswerParts, 'prompts' | 'terminals'>,
  session: Session,
  reason: Reason,
  need: number,
): Promise<string | undefined> {
  const meanings = meaningsOf(reason.input);
  const inOwnWords = (title: string, question: string) => askInOwnWords(prompts, session, title, question);
  if (reason.questions !== undefined && reason.questions.length > 0) {
    return askAll(session, reason.questions, { meanings, inOwnWords });
  }
  if (reason.kind === 'question') {
    const how = { several: false, meanings, inOwnWords };
    return askOne(nameOf(session), reason.message, reason.options ?? [], how);
  }
  if (reason.dialog === true && reason.options !== undefined) {
    const lines = reason.options.map((option) => ({ label: pickText(option), option }));
    const line = await vscode.window.showQuickPick(lines, {
      title: nameOf(session),
      placeHolder: reason.message,
      ignoreFocusOut: true,
    });
    return line?.option;
  }
  const answers = reason.kind === 'plan' ? PLAN_ANSWERS : TOOL_ANSWERS;
  const fitting = answers.filter(({ answer }) => answer !== 'in-own-words' || takesWhy(reason));
  const picked = await vscode.window.showQuickPick(fitting, {
    title: nameOf(session),
    placeHolder: reason.message,
    ignoreFocusOut: true,
  });
  switch (picked?.answer) {
    case 'in-own-words':
      return askWhyNot(prompts, session, need);
    case 'in-terminal':
      terminals.show(session, 'agent');
      return undefined;
    default:
      return picked?.answer;
  }
}

interface AnswerItem extends vscode.QuickPickItem {
  answer: 'allow' | 'deny' | 'in-own-words' | 'in-terminal';
}

const ALLOW: AnswerItem = { label: '$(check) Allow', answer: 'allow' };
const DENY: AnswerItem = { label: '$(x) Deny', answer: 'deny' };

const TOOL_ANSWERS: readonly AnswerItem[] = [
  ALLOW,
  DENY,
  { label: '$(comment) Deny, and say why…', answer: 'in-own-words' },
];

/** In which mode else the plan can be carried out depends on the person's settings of Claude Code: its dialog has it. */
const PLAN_ANSWERS: readonly AnswerItem[] = [
  { ...ALLOW, description: 'The agent carries it out, and asks before it edits' },
  { label: '$(comment) Say what to change…', answer: 'in-own-words' },
  { ...DENY, description: 'The agent stops, and stays in plan mode' },
  {
    label: '$(terminal) Answer in the terminal',
    description: 'Where it can be let edit without asking, too',
    answer: 'in-terminal',
  },
];

/** One answer a line, as the agent asks several things at a time. */
async function askAll(
  session: Session,
  questions: NonNullable<Reason['questions']>,
  how: HowToAsk,
): Promise<string | undefined> {
  const answers: string[] = [];
  for (const [index, { question, options, multiSelect }] of questions.entries()) {
    const title =
      questions.length === 1 ? nameOf(session) : `${nameOf(session)} (${index + 1}/${questions.length})`;
    const given = await askOne(title, question, options, { ...how, several: multiSelect });
    if (given === undefined) return undefined;
    answers.push(given);
  }
  return answers.join('\n');
}

interface HowToAsk {
  /** What the options mean. */
  meanings: ReadonlyMap<string, string>;
  inOwnWords(title: string, question: string): Promise<string | undefined>;
}

const OTHER = 'Something else…';

async function askOne(
  title: string,
  question: string,
  options: readonly string[],
  { several, meanings, inOwnWords }: HowToAsk & { several: boolean },
): Promise<string | undefined> {
  const items: Item[] = options.map((option) => ({
    label: pickText(option),
    detail: pickText(meanings.get(option) ?? ''),
    option,
  }));
  const shown = { title, placeHolder: question, ignoreFocusOut: true };
  const other = { label: OTHER, detail: '', option: undefined };
  const picked = options.length === 0 ? [other] : await pick([...items, other], shown, several);
  if (picked === undefined) return undefined;
  if (picked.length === 0) void showInformation('Nothing was chosen, so nothing was answered.');
  const answers = picked.map(({ option }) => option).filter((option) => option !== undefined);
  if (answers.length < picked.length) {
    const own = await inOwnWords(title, question);
    // Leaving the text leaves the question.
    if (own === undefined) return undefined;
    answers.push(own);
  }
  return answers.length === 0 ? undefined : answers.join(', ');
}

type Item = vscode.QuickPickItem & { option: string | undefined };

/** Undefined where the person left it. */
async function pick(
  offered: readonly Item[],
  shown: vscode.QuickPickOptions,
  several: boolean,
): Promise<readonly Item[] | undefined> {
  if (several) return vscode.window.showQuickPick(offered, { ...shown, canPickMany: true });
  const picked = await vscode.window.showQuickPick(offered, shown);
  return picked === undefined ? undefined : [picked];
}

/** What each option of a question means, as the agent describes it. Source: the input of Claude Code's `AskUserQuestion`. */
function meaningsOf(input: unknown): Map<string, string> {
  const meanings = new Map<string, string>();
  for (const question of listOf(input, 'questions')) {
    for (const option of listOf(question, 'options')) {
      const label = fieldOf(option, 'label');
      const meaning = fieldOf(option, 'description');
      if (typeof label === 'string' && typeof meaning === 'string') meanings.set(label, meaning);
    }
  }
  return meanings;
}

function listOf(value: unknown, name: string): unknown[] {
  const found = fieldOf(value, name);
  return Array.isArray(found) ? found : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * Opens what is asked about beside the question: a diff for an edit, else the input; where there is none, the agent's
 * own terminal. What the question itself says in full is not shown twice. Gives what closes it again.
 */
async function showInput(
  context: AnswerParts,
  session: Session,
  reason: Reason,
): Promise<() => Promise<void>> {
  if (reason.kind === 'question' && meaningsOf(reason.input).size > 0) return async () => {};
  if (isEmpty(reason.input)) {
    if (session.facts.life === 'active') context.terminals.show(session, 'agent', true);
    return async () => {};
  }
  const proposal = await withProgress(
    'Reading what is asked about',
    () => proposalOf(context, session, reason),
    'ends-waiting',
  );
  const opened = proposal.after;
  if (proposal.before === undefined) {
    const document = await vscode.workspace.openTextDocument(opened);
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  } else {
    await vscode.commands.executeCommand('vscode.diff', proposal.before, opened, proposal.title, {
      preview: true,
      preserveFocus: true,
    });
  }
  return async () => {
    const tabs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
    const own = tabs.filter(({ input }) => {
      const uri =
        input instanceof vscode.TabInputTextDiff
          ? input.modified
          : input instanceof vscode.TabInputText
            ? input.uri
            : undefined;
      return uri?.toString() === opened.toString();
    });
    await vscode.window.tabGroups.close(own);
  };
}

function isEmpty(input: unknown): boolean {
  return (
    input === undefined || (typeof input === 'object' && input !== null && Object.keys(input).length === 0)
  );
}
