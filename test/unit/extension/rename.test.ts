import { expect, it } from 'vitest';
import { perform } from '../../../extension/commands.ts';
import type { Context } from '../../../extension/context.ts';
import { part } from '../../support/part.ts';
import { window } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

it.each([
  ['a title', 'Mend the login', undefined],
  ['as many characters as it may have', 'x'.repeat(200), undefined],
  ['one more', 'x'.repeat(201), 'A title has at most 200 characters.'],
  ['none', '', 'A session has a title.'],
  ['what nobody sees', ' \u200b\u202e\t', 'A session has a title.'],
])('the box of Rename says what is wrong: %s', async (_what, title, fault) => {
  let said: unknown = 'nothing was asked';
  window.showInputBox = async ({ validateInput }: { validateInput(text: string): unknown }) => {
    said = validateInput(title);
    return undefined;
  };
  const told: unknown[] = [];
  await perform(part<Context>({}), 'fairlead.rename', sessionOf({ id: 'one' }), (each) => told.push(each));
  expect(told).toEqual([]);
  expect(said).toBe(fault);
});
