import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES, parseStatus } from '../../../sidecar/ptyhost/program-status.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a program status report', () => {
  it('is read with its kind and message', () => {
    const msg = base64('answer: Which color? (Red · Blue)');
    expect(parseStatus(`state=blocked:app=claude-code:kind=question:msg=${msg}:id=a1:later=x`)).toEqual({
      query: false,
      status: {
        state: 'blocked',
        app: 'claude-code',
        kind: 'question',
        msg: 'answer: Which color? (Red · Blue)',
        id: 'a1',
      },
    });
  });

  it('is a query when it begins with a question mark', () => {
    expect(parseStatus('?')).toEqual({ query: true });
    expect(parseStatus('?x=1')).toEqual({ query: true });
  });

  it('is ignored when it has no state', () => {
    expect(parseStatus('app=claude-code')).toBeUndefined();
    expect(parseStatus('state=:app=claude-code')).toBeUndefined();
    expect(parseStatus('')).toBeUndefined();
  });

  it('is kept with a state that is not known, as one that may need somebody', () => {
    expect(parseStatus('state=drea\u001bming:kind=permission')).toEqual({
      query: false,
      status: { state: 'blocked', reported: 'drea ming', kind: 'permission' },
    });
    const long = parseStatus(`state=${'x'.repeat(10_000)}`);
    expect(long).toMatchObject({ status: { state: 'blocked', reported: 'x'.repeat(200) } });
  });

  it('loses control characters and marks that turn text around', () => {
    const message = parseStatus(`state=working:msg=${base64('a\u001b[31m\nb\u202ec\u009b')}`);
    expect(message).toEqual({ query: false, status: { state: 'working', msg: 'a [31m b c' } });
  });

  it('is cut to 4 KiB without half a character', () => {
    const message = parseStatus(`state=working:msg=${base64('é'.repeat(MAX_MESSAGE_BYTES))}`);
    if (message === undefined || message.query) throw new Error('not a status');
    expect(message.status.msg).toBe('é'.repeat(MAX_MESSAGE_BYTES / 2));
  });
});
