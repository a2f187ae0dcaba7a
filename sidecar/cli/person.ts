import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { z } from 'zod';
import type { AskPerson } from '../protocol/protocol.ts';
import { printable } from './output.ts';
import { isInteractive } from './question.ts';

/** Puts a question of git or ssh to whoever sits at this terminal; what is secret is not shown while it is typed. */
export async function answerQuestion(
  params: z.output<typeof AskPerson.params>,
): Promise<{ answer: string | null }> {
  if (!isInteractive()) return { answer: null };
  process.stderr.write(printable(params.question));
  const output = params.secret
    ? new Writable({ write: (_chunk, _encoding, done) => done() })
    : process.stderr;
  const line = createInterface({ input: process.stdin, output, terminal: true });
  const answer = await new Promise<string | null>((resolve) => {
    line.once('SIGINT', () => resolve(null));
    line.once('close', () => resolve(null));
    line.question('', resolve);
  });
  line.close();
  process.stderr.write('\n');
  return { answer };
}
