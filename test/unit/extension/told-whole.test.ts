import { describe, expect, it } from 'vitest';
import { isToldWhole } from '../../../extension/fleet/told-whole.ts';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { sessionOf } from './support/sessions.ts';

/** Where a session called `Mend it` that asks this shows all of it. */
function whole(reason: Partial<Reason>): string[] {
  const session = sessionOf({
    id: 'one',
    title: 'Mend it',
    state: 'needs-you',
    need: 1,
    reason: { kind: 'permission', message: '', ...reason },
  });
  return (['row', 'notification'] as const).filter((where) => isToldWhole(session, where));
}

/** A shell command, with the message that the sidecar makes of it: one line of at most 300 characters. */
function bash(command: string, more: object = {}): Partial<Reason> {
  const line = `Bash: ${command}`.replace(/[\u0000-\u001f]+/g, ' ');
  const message = line.length > 300 ? `${line.slice(0, 299)}…` : line;
  return { tool: 'Bash', message, input: { command, ...more } };
}

describe('what is asked is told whole', () => {
  it('for a short command, by a row and a notification', () => {
    expect(whole(bash('npm test'))).toEqual(['row', 'notification']);
    expect(whole(bash('npm test', { description: 'Runs the tests', timeout: 9 }))).toHaveLength(2);
    expect(whole({ tool: 'Read', message: 'Read: a.txt', input: { file_path: 'a.txt' } })).toHaveLength(2);
  });

  it('for a command that a row has no room for, by a notification alone', () => {
    expect(whole(bash(`npm test -- ${'x'.repeat(30)}`))).toEqual(['notification']);
  });

  it.each<[string, Partial<Reason>]>([
    ['of which the end is cut off', bash(`echo ${'x'.repeat(300)}; rm -rf ~`)],
    ['of several lines', bash('echo a\nrm -rf ~')],
    ['with spaces that push its end away', bash(`echo ${' '.repeat(60)}; rm -rf ~`)],
    ['with what turns text around', bash('echo \u200fa')],
    ['with what cannot be seen', bash('echo a\u200bb')],
    ['with a field that changes what it does', bash('make', { dangerouslyDisableSandbox: true })],
    ['of which the input is not whole', { ...bash('make'), truncated: true }],
    ['whose input is another than it says', { ...bash('make'), input: { command: 'rm -rf ~' } }],
    ['whose input is not known', { tool: 'Bash', message: 'Bash: make' }],
    ['that is an edit', { tool: 'Write', message: 'Write: a', input: { file_path: 'a', content: 'b' } }],
    ['that only the screen of the agent tells of', { message: 'The agent asks for a permission.' }],
  ])('not for one %s', (_what, reason) => {
    expect(whole(reason)).toEqual([]);
  });

  it('for the question of trust, which is nothing but its words', () => {
    const options = ['allow', 'deny'];
    expect(whole({ kind: 'trust', message: 'Do you trust the files in this repository?', options })).toEqual([
      'notification',
    ]);
  });
});
