import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The executable that a shell in `environment` would run for `name`, absolute; undefined when there is none. */
export function findProgram(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (name.includes('/')) return isAbsolute(name) && isExecutable(name) ? name : undefined;
  return (environment.PATH ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
