import { createInterface } from 'node:readline/promises';
import { FairleadError } from '../protocol/errors.ts';
import { printable } from './output.ts';

/** Whether a person sits at both ends. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `));
}

/** How often a choice is asked for. */
const ASKED = 2;

/**
 * Puts numbered choices; resolves to the name of the one taken, which can be given as well. Asks once more when it is
 * none of them.
 * @throws FairleadError `cancelled` as {@link ask}, and when it is none of them again
 */
export async function choose<Name extends string>(
  question: string,
  choices: Readonly<Record<Name, string>>,
): Promise<Name> {
  const names = Object.keys(choices) as Name[];
  const list = names.map((name, index) => `  ${index + 1}  ${choices[name]}`).join('\n');
  let said = '';
  for (let asked = 0; asked < ASKED; asked += 1) {
    if (asked > 0) process.stderr.write(`${noneOfThem(said)} Give a number from 1 to ${names.length}.\n`);
    said = await ask(asked === 0 ? `${question}\n${list}\nNumber: ` : 'Number: ');
    const name = names[Number(said) - 1] ?? names.find((each) => each === said);
    if (name !== undefined) return name;
  }
  throw new FairleadError('cancelled', noneOfThem(said));
}

function noneOfThem(said: string): string {
  return said === '' ? 'Nothing was chosen.' : `"${printable(said)}" is none of them.`;
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
