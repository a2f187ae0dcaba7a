import { text } from 'node:stream/consumers';
import { FairleadError } from '../protocol/errors.ts';
import { MAX_TEXT } from '../protocol/protocol.ts';

/** `argument` itself, or all of standard input for `-`. */
export async function readPrompt(argument: string): Promise<string> {
  const prompt = argument === '-' ? (await text(process.stdin)).replace(/\n$/, '') : argument;
  if (prompt.trim() === '')
    throw new FairleadError('usage', 'The prompt is empty.', { hint: 'Give some text.' });
  if (prompt.length > MAX_TEXT) {
    throw new FairleadError('usage', `The prompt has more than ${MAX_TEXT} characters.`, {
      hint: 'Put it into a file and let the prompt name that.',
    });
  }
  return prompt;
}
