import { delimiter, join, resolve } from 'node:path';

const TOOLS = resolve(import.meta.dirname, '../../node_modules', '.bin');

/** `environment` without what an npm leaves to the scripts that it runs: another would take that for its own. */
export function withoutNpm(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !/^npm_/i.test(name)) kept[name] = value;
  }
  return kept;
}

/**
 * The environment of whoever ran `npm start`, as it was before: the tools of this folder, a `claude` among them, are not
 * on its PATH.
 */
export function personEnvironment(): Record<string, string> {
  const { PATH = '', ...rest } = withoutNpm(process.env);
  const folders = PATH.split(delimiter).filter((folder) => join(folder) !== TOOLS);
  return { ...rest, PATH: folders.join(delimiter) };
}
