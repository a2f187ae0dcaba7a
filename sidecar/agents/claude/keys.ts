import { bracketedPaste, ENTER, ESCAPE, pasteText } from '../../terminals/input.ts';
import { type DialogOption, dialogOptions } from './dialog.ts';
import { questionsOf } from './tool-summary.ts';

/** Keys to write, one step after the other. */
export interface KeyStep {
  keys: string;
  /** Time that the CLI needs before the next step, in milliseconds. */
  pauseMs: number;
  /** Must be on the screen before the keys are sent; else the answer no longer fits and is given up. */
  expect?: string;
}

/** What a person answers to a dialog. */
export type Answer =
  /** Where a dialog has more than one yes: the one after which the agent still asks. */
  | { kind: 'allow' }
  /** With a message the agent goes on and is told it; without one the turn is interrupted. */
  | { kind: 'deny'; message?: string | undefined }
  /** The label of a choice, its number (from 1), or, for a question, any text. */
  | { kind: 'text'; text: string };

/** After keys that change what is on the screen, before those that rely on it, in ms. */
const REDRAW_MS = 250;

/** Some dialogs are drawn up to 200 ms before they take keys, which are lost then. */
const DRAWN_MS = 500;

/** Between a paste and Enter, in ms: together they are taken as one paste. */
const SUBMIT_MS = 400;

/** Of a text that was typed into a dialog so many characters must show before Enter: few, since rows are narrow. */
const SHOWN_CHARACTERS = 8;

const DOWN = '\u001b[B';
const UP = '\u001b[A';
const TAB = '\t';
const STASH = '\u0013';

/** Stops the turn that runs, or declines the dialog that stands. Twice while idle would open the list of rewinds. */
export const INTERRUPT: readonly KeyStep[] = [{ keys: ESCAPE, pauseMs: REDRAW_MS }];

/** Longest piece that is pasted at once. The CLI hides a larger paste from the model's view of what was typed. */
const PIECE_CHARACTERS = 700;
const PIECE_NEWLINES = 2;

/**
 * Submits `prompt` as the person's own words: `composer` is what stands in the composer ({@link composerText}), which
 * is put aside and comes back by itself afterwards.
 *
 * A paste of more than two line ends or about 800 characters would reach the model as `<pasted_content>`, that is
 * as foreign material; so it goes in pieces, which the CLI joins. Tabs become four spaces and white space at the end
 * goes, which nothing prevents. A leading space keeps `!` from being run as a shell command and an unknown `/word`
 * from being refused; commands of the CLI run all the same. Seen with 2.1.332, up to 100 KB.
 */
export function promptSteps(prompt: string, composer = ''): KeyStep[] {
  const text = pasteText(prompt).replace(/\s+$/, '');
  // A backslash before Enter would make a new line of it.
  const safe = `${/^[!/]/.test(text) ? ' ' : ''}${text}${text.endsWith('\\') ? ' ' : ''}`;
  return [
    ...(composer === '' ? [] : [{ keys: STASH, pauseMs: REDRAW_MS }]),
    { keys: pieces(safe).map(bracketedPaste).join(''), pauseMs: SUBMIT_MS },
    { keys: ENTER, pauseMs: 0 },
  ];
}

function pieces(text: string): string[] {
  const found: string[] = [];
  let piece = '';
  let lines = 0;
  for (const character of text) {
    piece += character;
    if (character === '\r') lines += 1;
    if (lines >= PIECE_NEWLINES || piece.length >= PIECE_CHARACTERS) {
      found.push(piece);
      piece = '';
      lines = 0;
    }
  }
  return piece === '' ? found : [...found, piece];
}

/** Many keys at once would be taken for a paste; so many that come apart, by so many milliseconds, are not. */
const KEYS_AT_ONCE = 8;
const APART_MS = 25;

/** Empties the composer: Ctrl-U takes a line, then the line end before it. Harmless when it is empty. */
export function clearComposerSteps(composer: string): KeyStep[] {
  const keys = 2 * composer.split('\n').length;
  const steps = Math.ceil(keys / KEYS_AT_ONCE);
  return Array.from({ length: steps }, (_, step) => ({
    keys: '\u0015'.repeat(Math.min(KEYS_AT_ONCE, keys - step * KEYS_AT_ONCE)),
    pauseMs: step === steps - 1 ? REDRAW_MS : APART_MS,
  }));
}

/**
 * The keys that answer the dialog on the screen, undefined when there is none or it has no such choice. `input` is
 * that of the tool that asks, for AskUserQuestion; several questions take one line of the text each. Pure.
 */
export function answerSteps(
  screen: readonly string[],
  answer: Answer,
  input?: unknown,
): KeyStep[] | undefined {
  const options = dialogOptions(screen);
  const steps = options.length === 0 ? undefined : stepsFor(options, answer, input);
  return steps && [{ keys: '', pauseMs: DRAWN_MS }, ...steps];
}

function stepsFor(options: readonly DialogOption[], answer: Answer, input: unknown): KeyStep[] | undefined {
  const questions = questionsOf(input);
  if (questions.length > 0) {
    if (answer.kind === 'deny') return [{ keys: ESCAPE, pauseMs: 0 }];
    return answer.kind === 'text' ? questionSteps(questions, answer.text.split('\n')) : undefined;
  }
  if (answer.kind === 'allow') return choose(options, isAskingYes) ?? choose(options, isYes);
  if (answer.kind === 'deny') {
    const refusal = (option: DialogOption) => /^(no|deny|cancel|don't)\b/i.test(option.label);
    if (answer.message === undefined) return choose(options, refusal) ?? [{ keys: ESCAPE, pauseMs: 0 }];
    const message = answer.message.replace(/\s+/g, ' ').trim();
    const at = options.findIndex(refusal);
    if (at === -1) return sayInstead(options, message);
    return [
      ...moveTo(options, at),
      // Opens a field for the message behind the choice.
      { keys: TAB, pauseMs: REDRAW_MS },
      { keys: bracketedPaste(message), pauseMs: SUBMIT_MS, expect: 'tell Claude' },
      { keys: ENTER, pauseMs: 0, expect: message.slice(0, SHOWN_CHARACTERS) },
    ];
  }
  const wanted = answer.text.trim().toLowerCase();
  return choose(
    options,
    (option, at) => option.label.toLowerCase() === wanted || String(option.number ?? at + 1) === wanted,
  );
}

function isYes({ label }: DialogOption): boolean {
  return /^(yes|allow|continue|proceed)\b/i.test(label);
}

/** The first yes to a plan leaves plan mode for one in which edits are not asked for. Seen with 2.1.332. */
function isAskingYes({ label }: DialogOption): boolean {
  return /^yes, manually approve\b/i.test(label);
}

/** A plan is refused by a choice that is itself the field for the message. Seen with 2.1.332. */
function sayInstead(options: readonly DialogOption[], message: string): KeyStep[] | undefined {
  const field = options.find(({ label }) => /^tell claude what to change\b/i.test(label));
  if (field === undefined || field.number === null) return undefined;
  return [
    { keys: String(field.number), pauseMs: REDRAW_MS },
    { keys: bracketedPaste(message), pauseMs: SUBMIT_MS, expect: `❯ ${field.number}.` },
    { keys: ENTER, pauseMs: 0, expect: message.slice(0, SHOWN_CHARACTERS) },
  ];
}

/** A digit chooses at once. Where choices have none, the first is not always the harmless one: move, then Enter. */
function choose(
  options: readonly DialogOption[],
  fits: (option: DialogOption, at: number) => boolean,
): KeyStep[] | undefined {
  const at = options.findIndex(fits);
  const option = options[at];
  if (option === undefined) return undefined;
  if (option.number !== null && option.number <= 9) return [{ keys: String(option.number), pauseMs: 0 }];
  return [...moveTo(options, at), { keys: ENTER, pauseMs: 0, expect: `❯ ${option.label}` }];
}

function moveTo(options: readonly DialogOption[], at: number): KeyStep[] {
  const selected = options.findIndex((option) => option.selected);
  const key = at > selected ? DOWN : UP;
  return Array.from({ length: Math.abs(at - selected) }, () => ({ keys: key, pauseMs: REDRAW_MS }));
}

/** One line of answer a question: the label of a choice or its number, several parted by commas, or any text. */
function questionSteps(
  questions: ReturnType<typeof questionsOf>,
  answers: readonly string[],
): KeyStep[] | undefined {
  const steps: KeyStep[] = [];
  for (const [n, { question, options, multiSelect }] of questions.entries()) {
    const answer = answers[n]?.trim() ?? '';
    if (answer === '') return undefined;
    const expect = question.slice(0, 40);
    const numberOf = (text: string) => {
      const label = options.findIndex((option) => option.toLowerCase() === text.trim().toLowerCase());
      if (label !== -1) return label + 1;
      const number = Number(text);
      return Number.isInteger(number) && number >= 1 && number <= options.length ? number : undefined;
    };
    const chosen = multiSelect ? answer.split(',').map(numberOf) : [numberOf(answer)];
    if (chosen.every((number) => number !== undefined)) {
      for (const number of chosen) steps.push({ keys: String(number), pauseMs: SUBMIT_MS, expect });
      if (multiSelect) steps.push({ keys: TAB, pauseMs: SUBMIT_MS });
      continue;
    }
    // The choice behind the last one takes text.
    const field = options.length + 1;
    steps.push({ keys: String(field), pauseMs: SUBMIT_MS, expect });
    steps.push({ keys: bracketedPaste(answer), pauseMs: SUBMIT_MS, expect: `❯ ${field}.` });
    const typed = answer.slice(0, SHOWN_CHARACTERS);
    // In a list with several answers Enter would tick the text; behind it stands the row that goes on.
    if (multiSelect) steps.push({ keys: TAB, pauseMs: SUBMIT_MS, expect: typed });
    steps.push({ keys: ENTER, pauseMs: SUBMIT_MS, expect: typed });
  }
  const review = questions.length > 1 || questions.some(({ multiSelect }) => multiSelect);
  if (review) steps.push({ keys: ENTER, pauseMs: 0, expect: 'Submit answers' });
  return steps;
}
