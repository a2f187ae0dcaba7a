import { beforeEach, expect, it } from 'vitest';
import { perform } from '../../../extension/commands.ts';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import type { Context } from '../../../extension/context.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { part } from '../../support/part.ts';

const window = new FakeWindow();

const session = part<Session>({ id: 's1', title: 'Fix it', facts: { life: 'active' } });

beforeEach(() => {
  window.editors.length = 0;
  window.pick = () => 'A prompt that took long to write';
});

/** Sends a prompt over a connection that fails so. */
async function send(error: Error): Promise<unknown[]> {
  const told: unknown[] = [];
  const context = part<Context>({ connection: { requestOnce: () => Promise.reject(error) } });
  await perform(context, 'fairlead.sendPrompt', session, (each) => told.push(each));
  return told;
}

it('a prompt that could not be sent is there again in an editor, and why is told', async () => {
  const error = new ExtensionError('daemon.lost', 'The sidecar ended.');
  expect(await send(error)).toEqual([error]);
  expect(window.editors).toEqual(['A prompt that took long to write']);
});

it('a prompt that the person took back is not', async () => {
  await send(new ExtensionError('cancelled', 'Cancelled.'));
  expect(window.editors).toEqual([]);
});

it('a prompt that could not be taken back any more is not either, and that is told', async () => {
  const error = new ExtensionError('prompt.sent', 'It is too late.');
  expect(await send(error)).toEqual([error]);
  expect(window.editors).toEqual([]);
});
