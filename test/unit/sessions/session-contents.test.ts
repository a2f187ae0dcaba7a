import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { encodePath } from '../../../sidecar/git/names.ts';
import type { SessionContext } from '../../../sidecar/sessions/context.ts';
import type { SessionRecord } from '../../../sidecar/sessions/record.ts';
import { SessionContents } from '../../../sidecar/sessions/session-contents.ts';
import { part } from '../../support/part.ts';

const root = mkdtempSync(join(tmpdir(), 'fairlead-contents-'));
const worktree = join(root, 'worktree');
mkdirSync(worktree);
writeFileSync(join(root, 'secret.txt'), 'Not of the session.\n');
symlinkSync('..', join(worktree, 'up'));
afterAll(() => rmSync(root, { recursive: true }));

const record = part<SessionRecord>({ life: 'active', git_dir: join(worktree, '.git'), worktree });
const read = async (path: string) => {
  using contents = new SessionContents(part<SessionContext>({}));
  return (await contents.read(record, path, undefined))?.toString();
};

/** A file whose name and folder are bytes that are no text. */
const NO_TEXT = 'caf\udce9/menu-\udcff.txt';
const below = (path: string) => Buffer.concat([Buffer.from(`${worktree}/`), encodePath(path)]);

describe('a file in a worktree', () => {
  it('is read though its name and its folder are not UTF-8', async () => {
    mkdirSync(below('caf\udce9'));
    writeFileSync(below(NO_TEXT), 'Espresso\n');
    expect(await read(NO_TEXT)).toBe('Espresso\n');
    expect(await read('caf\udce9/none.txt')).toBeUndefined();
  });

  it.each(['up/secret.txt', '../secret.txt', 'caf\udce9/../../secret.txt'])(
    'is none outside of it: %j',
    async (path) => {
      await expect(read(path)).rejects.toMatchObject({ code: 'params.invalid' });
    },
  );
});
