import type { Reason } from '../../protocol/reason.ts';
import * as z from '../../protocol/zod.ts';
import type { OpenCall } from './hook-state.ts';

const MAX_MESSAGE = 300;

const Questions = z.looseObject({
  questions: z
    .array(
      z.looseObject({
        question: z.string(),
        multiSelect: z.optional(z.boolean()),
        options: z.catch(z.array(z.looseObject({ label: z.string() })), []),
      }),
    )
    .check(z.minLength(1)),
});

/** The questions of an AskUserQuestion call; empty when the input is not as expected. */
export function questionsOf(input: unknown): { question: string; multiSelect: boolean; options: string[] }[] {
  const parsed = Questions.safeParse(input);
  if (!parsed.success) return [];
  return parsed.data.questions.map(({ question, multiSelect, options }) => ({
    question,
    multiSelect: multiSelect === true,
    options: options.map(({ label }) => label),
  }));
}

function told({ question, multiSelect, options }: ReturnType<typeof questionsOf>[number]) {
  return { question: oneLine(question), multiSelect, options: options.map(oneLine) };
}

/** What the person is asked by a tool call that waits. */
export function reasonOf(call: OpenCall): Reason {
  const { tool, input } = call;
  const asker = call.toolUseId === null ? {} : { call: call.toolUseId };
  if (tool === 'AskUserQuestion') {
    const questions = questionsOf(input);
    const [first] = questions;
    const more = questions.length > 1 ? ` (and ${questions.length - 1} more)` : '';
    return {
      kind: 'question',
      message: oneLine(`${first?.question ?? 'The agent has a question.'}${more}`),
      tool,
      ...asker,
      input,
      ...(first === undefined || first.options.length === 0 ? {} : { options: first.options.map(oneLine) }),
      ...(questions.length < 2 && first?.multiSelect !== true ? {} : { questions: questions.map(told) }),
    };
  }
  if (tool === 'ExitPlanMode') {
    return { kind: 'plan', message: 'A plan waits for approval.', tool, ...asker, input };
  }
  return { kind: 'permission', message: oneLine(`${tool}: ${summarize(input)}`), tool, ...asker, input };
}

/** The part of a tool's input that a person decides by. */
const TELLING = [
  'command',
  'file_path',
  'notebook_path',
  'path',
  'url',
  'query',
  'pattern',
  'prompt',
  'description',
];

export function summarize(input: unknown): string {
  if (input !== null && typeof input === 'object') {
    const members = new Map(Object.entries(input));
    for (const name of TELLING) {
      const value: unknown = members.get(name);
      if (typeof value === 'string' && value.trim() !== '') return value;
    }
  }
  return JSON.stringify(input) ?? '';
}

/** Without control characters and marks that turn the direction of text around, at most 300 characters. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 4 * MAX_MESSAGE)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ')
    .trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line;
}
