import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../sidecar/cli/exit-code.ts';
import { ERROR_CODES } from '../../../sidecar/protocol/errors.ts';

describe('the exit code of an error', () => {
  it('tells wrong usage, what is not there, and what took too long from the rest', () => {
    const codes = Map.groupBy(ERROR_CODES, exitCodeOf);
    expect(codes.get(2)).toEqual(['params.invalid', 'session.ambiguous', 'usage']);
    expect(codes.get(3)).toEqual([
      'agent.unsupported',
      'base.missing',
      'daemon.not-running',
      'queue.not-queued',
      'repo.missing',
      'session.missing',
    ]);
    expect(codes.get(4)).toEqual(['wait.timed-out']);
    expect([...codes.keys()].sort()).toEqual([1, 2, 3, 4]);
  });
});
