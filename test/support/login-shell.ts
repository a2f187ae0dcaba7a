import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An editor takes the environment of a login shell, which would set a PATH of its own: in this home it is `path`. */
export function setLoginPath(home: string, path: string | undefined): void {
  writeFileSync(join(home, '.profile'), `export PATH='${path ?? ''}'\n`);
}
