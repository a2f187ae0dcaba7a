import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Drafts } from '../../../extension/actions/prompts/drafts.ts';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { Memento } from './support/memento.ts';

let state: Memento;
/** The drafts of a window that was just loaded. */
const load = () => new Drafts(state, 'drafts');
/** What is there for `place` after a reload. */
const afterReload = (place = 'one') => load().write(place, { text: '' }).draft.text;
const kept = () => vi.advanceTimersByTimeAsync(200);

beforeEach(() => {
  vi.useFakeTimers();
  state = new Memento();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('after a reload', () => {
  it('a text is there as it was typed last, and another place has none', async () => {
    const { type } = load().write('one', { text: '' });
    type('Half');
    type('Half a prompt');
    await kept();
    expect(afterReload()).toBe('Half a prompt');
    expect(afterReload('two')).toBe('');
  });

  it('a text that nobody took up is there still, as is what was written beside it', async () => {
    load().write('one', { text: '' }).type('The first');
    await kept();
    load().write('two', { text: '' }).type('The second');
    await kept();
    expect([afterReload('one'), afterReload('two')]).toEqual(['The first', 'The second']);
  });

  it('what was chosen for a text is as for a new one', async () => {
    const plans = () => new Drafts<{ text: string; mode: string }>(state, 'plans');
    const { draft, type } = plans().write('one', { text: '', mode: 'default' });
    draft.mode = 'bypassPermissions';
    type('Half a prompt');
    await kept();
    expect(plans().write('one', { text: '', mode: 'default' }).draft).toEqual({
      text: 'Half a prompt',
      mode: 'default',
    });
  });

  it('what was sent is gone, and what the person took back is there', async () => {
    const send = (place: string, drafts: Drafts, sending: () => Promise<void>) => {
      const { draft, type } = drafts.write(place, { text: '' });
      type(`Do ${place}`);
      return drafts.send(place, draft, { send: sending, rescue: async () => {} }).catch(() => {});
    };
    const drafts = load();
    await send('one', drafts, async () => {});
    await send('two', drafts, async () => {
      throw new ExtensionError('cancelled', 'Cancelled.');
    });
    await kept();
    expect([afterReload('one'), afterReload('two')]).toEqual(['', 'Do two']);
  });

  it('what was forgotten is gone, also where it was from before an earlier one', async () => {
    load().write('s1 Which?', { text: '' }).type('Neither');
    await kept();
    load().forget('s1 ');
    await kept();
    expect(afterReload('s1 Which?')).toBe('');
  });

  it('as many as were taken up last are there', async () => {
    const drafts = load();
    for (let n = 0; n < 60; n += 1) drafts.write(`s${n}`, { text: '' }).type(`Text ${n}`);
    drafts.write('s5', { text: '' });
    await kept();
    const all = Array.from({ length: 60 }, (_, n) => afterReload(`s${n}`));
    expect(all.filter((text) => text !== '')).toHaveLength(50);
    expect([all[4], all[5], all[59]]).toEqual(['', 'Text 5', 'Text 59']);
  });
});
