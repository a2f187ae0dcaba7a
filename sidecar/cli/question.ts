import { createInterface } from 'node:readline/promises';
import { FairleadError } from '../protocol/errors.ts';

/** Whether a person sits at both ends. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `));
}

/** Puts numbered choices; resolves to the name of the one taken. */
export async function choose<Name extends string>(
  question: string,
  choices: Readonly<Record<Name, string>>,
): Promise<Name> {
  const names = Object.keys(choices) as Name[];
  const list = names.map((name, index) => `  ${index + 1}  ${choices[name]}`).join('\n');
  const answer = await ask(`${question}\n${list}\nNumber: `);
  const name = names[Number(answer) - 1];
  if (name === undefined) throw new FairleadError('cancelled', `"${answer}" is none of them.`);
  return name;
}

/** @throws FairleadError `cancelled` when Ctrl-C or the end of the input comes instead of an answer */
async function ask(question: string): Promise<string> {
  const line = createInterface({ input: process.stdin, output: process.stderr });
  const { promise: left, reject } = Promise.withResolvers<never>();
  line.once('SIGINT', () => {
    // The terminal gives the key instead of the signal while a line is read.
    process.emit('SIGINT');
    line.close();
  });
  line.once('close', () => reject(new FairleadError('cancelled', 'Nothing was answered.')));
  left.catch(() => {});
  try {
    return (await Promise.race([line.question(question), left])).trim();
  } finally {
    line.close();
  }
}
