import { text } from 'node:stream/consumers';
import { FairleadError } from '../protocol/errors.ts';

/** `argument` itself, or all of standard input for `-`. */
export async function readPrompt(argument: string): Promise<string> {
  const prompt = argument === '-' ? (await text(process.stdin)).replace(/\n$/, '') : argument;
  if (prompt.trim() === '')
    throw new FairleadError('usage', 'The prompt is empty.', { hint: 'Give some text.' });
  return prompt;
}
