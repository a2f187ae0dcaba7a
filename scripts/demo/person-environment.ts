import { delimiter, join, resolve } from 'node:path';
import { withoutNpm } from '../../test/support/without-npm.ts';

const TOOLS = resolve(import.meta.dirname, '../../node_modules', '.bin');

/**
 * The environment of whoever ran `npm start`, as it was before: the tools of this folder, a `claude` among them, are not
 * on its PATH.
 */
export function personEnvironment(): Record<string, string> {
  const { PATH = '', ...rest } = withoutNpm(process.env);
  const folders = PATH.split(delimiter).filter((folder) => join(folder) !== TOOLS);
  return { ...rest, PATH: folders.join(delimiter) };
}
