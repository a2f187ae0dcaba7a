import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { z } from 'zod';
import type { AskPerson } from '../protocol/protocol.ts';
import { printable } from './output.ts';
import { isInteractive } from './question.ts';

/**
 * Puts a question of git or ssh to whoever sits at this terminal; what is secret is not shown while it is typed. Aborted,
 * nobody waits for the answer any more.
 */
export async function answerQuestion(
  params: z.output<typeof AskPerson.params>,
  signal: AbortSignal,
): Promise<{ answer: string | null }> {
  if (!isInteractive() || signal.aborted) return { answer: null };
  const question = printable(params.question);
  // Readline clears the line before its own prompt: only where it shows nothing may the question be written beside it.
  if (params.secret) process.stderr.write(question);
  const output = params.secret
    ? new Writable({ write: (_chunk, _encoding, done) => done() })
    : process.stderr;
  const line = createInterface({ input: process.stdin, output, terminal: true });
  const answer = await new Promise<string | null>((resolve) => {
    signal.addEventListener('abort', () => resolve(null), { once: true });
    line.once('SIGINT', () => resolve(null));
    line.once('close', () => resolve(null));
    line.question(params.secret ? '' : question, resolve);
  });
  line.close();
  process.stderr.write(signal.aborted ? '\nThis is no longer asked.\n' : '\n');
  return { answer };
}
