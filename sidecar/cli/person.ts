import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { AskPerson } from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import { printable } from './output.ts';
import { isInteractive } from './question.ts';

/** How long nothing has to be typed for a secret to be taken as left off. */
const LEFT_OFF_MS = 2000;

/** Settles when the terminal is free: it takes one question at a time. */
let free: Promise<unknown> = Promise.resolve();

/**
 * Puts a question of git or ssh to whoever sits at this terminal; what is secret is not shown while it is typed. Aborted,
 * nobody waits for the answer any more.
 */
export function answerQuestion(
  params: z.output<typeof AskPerson.params>,
  signal: AbortSignal,
): Promise<{ answer: string | null }> {
  const answered = free.then(() => ask(params, signal));
  free = answered.catch(() => {});
  return answered;
}

async function ask(
  params: z.output<typeof AskPerson.params>,
  signal: AbortSignal,
): Promise<{ answer: string | null }> {
  if (!isInteractive() || signal.aborted) return { answer: null };
  const question = printable(params.question);
  const output = params.secret
    ? new Writable({ write: (_chunk, _encoding, done) => done() })
    : process.stderr;
  const line = createInterface({ input: process.stdin, output, terminal: true });
  // Readline clears the line before its own prompt: only where it shows nothing may the question be written beside it.
  if (params.secret) process.stderr.write(question);
  const answer = await new Promise<string | null>((resolve) => {
    signal.addEventListener('abort', () => resolve(null), { once: true });
    line.once('SIGINT', () => resolve(null));
    line.once('close', () => resolve(null));
    line.question(params.secret ? '' : question, resolve);
  });
  process.stderr.write(signal.aborted ? '\nThis is no longer asked.\n' : '\n');
  // Whoever is in the middle of a secret types on: the rest of it is not for the screen either.
  if (params.secret && signal.aborted) await leftOff(line);
  line.close();
  return { answer };
}

/** Resolves after the line is ended, or when nothing is typed for a while. */
function leftOff(line: Interface): Promise<void> {
  return new Promise((resolve) => {
    const pause = setTimeout(done, LEFT_OFF_MS);
    const typed = () => pause.refresh();
    function done(): void {
      clearTimeout(pause);
      process.stdin.off('keypress', typed);
      resolve();
    }
    process.stdin.on('keypress', typed);
    line.once('line', done);
    line.once('close', done);
    line.once('SIGINT', () => {
      // The terminal gives the key instead of the signal while a line is read.
      process.emit('SIGINT');
      done();
    });
  });
}
