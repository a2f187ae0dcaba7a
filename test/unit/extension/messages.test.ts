import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const FOLDER = resolve(import.meta.dirname, '../../../extension');
/** What makes links of what it is given. */
const SHOWS = /\.(show(Information|Warning|Error)Message|showInputBox)\(|ProgressLocation\.Notification/;

describe('messages', () => {
  it('are all shown by the one module that leaves no link in them', () => {
    const files = globSync('**/*.ts', { cwd: FOLDER });
    const showing = files.filter((file) => SHOWS.test(readFileSync(join(FOLDER, file), 'utf8')));
    expect(showing).toEqual(['window/messages.ts']);
  });
});
