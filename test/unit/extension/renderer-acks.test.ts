import { describe, expect, it } from 'vitest';
import { ACK_STEP, RendererAcks } from '../../../extension/terminals/renderer-acks.ts';

const QUESTION = '\u001b[5n';
const ANSWER = '\u001b[0n';

describe('acknowledgements by the renderer', () => {
  it('are asked for behind a step of output, and given when the answer comes', () => {
    const acked: number[] = [];
    const acks = new RendererAcks((position) => acked.push(position));
    const most = 'x'.repeat(ACK_STEP - 1);
    expect(acks.output(most, 10)).toBe(most);
    expect(acks.output('yz', 12)).toBe(`yz${QUESTION}`);
    expect(acked).toEqual([]);
    expect(acks.input(ANSWER)).toBe('');
    expect(acked).toEqual([12]);
  });

  it('wait for the end of a sequence', () => {
    const acks = new RendererAcks(() => {});
    expect(acks.output(`${'x'.repeat(ACK_STEP)}\u001b[3`, 1)).not.toContain(QUESTION);
    expect(acks.output('1m', 2)).toBe(`1m${QUESTION}`);
  });

  it('leave the keys of the person, and answers that a program asked for', () => {
    const acked: number[] = [];
    const acks = new RendererAcks((position) => acked.push(position));
    acks.snapshot('screen', 5);
    expect(acks.input(`a${ANSWER}b`)).toBe('ab');
    expect(acks.input(`${ANSWER}c`)).toBe(`${ANSWER}c`);
    expect(acked).toEqual([5]);
  });

  it('come in the order of the questions', () => {
    const acked: number[] = [];
    const acks = new RendererAcks((position) => acked.push(position));
    acks.snapshot('', 1);
    acks.snapshot('', 2);
    expect(acks.input(ANSWER + ANSWER)).toBe('');
    expect(acked).toEqual([1, 2]);
  });

  it('leave nothing to a program that joins while questions about the one before are open', () => {
    const acked: string[] = [];
    const first = new RendererAcks((position) => acked.push(`first ${position}`));
    first.snapshot('', 1);
    first.snapshot('', 2);
    first.input(ANSWER);
    const second = new RendererAcks((position) => acked.push(`second ${position}`), first);
    second.snapshot('', 7);
    const third = new RendererAcks((position) => acked.push(`third ${position}`), second);
    third.snapshot('', 9);
    expect(third.input(`a${ANSWER}${ANSWER}b`)).toBe('ab');
    expect(acked).toEqual(['first 1']);
    expect(third.input(ANSWER)).toBe('');
    expect(acked).toEqual(['first 1', 'third 9']);
    expect(third.input(ANSWER)).toBe(ANSWER);
  });
});
