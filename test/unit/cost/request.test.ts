import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joined, type Request } from '../../../sidecar/cost/request.ts';

const few = fc.nat(2);
const name = fc.constantFrom('a', 'b');
const request: fc.Arbitrary<Request> = fc.record({
  message: fc.constant('m'),
  request: fc.constant('r'),
  payer: name,
  copied: fc.boolean(),
  born: few,
  sideChain: fc.boolean(),
  cwd: name,
  branch: name,
  model: name,
  at: few,
  input: few,
  output: few,
  cacheWrite5m: few,
  cacheWrite1h: few,
  cacheRead: few,
  webSearches: few,
  speed: name,
  geo: name,
});

describe('joining what is told of a request', () => {
  it('gives the same in any order and however often something is told', () => {
    fc.assert(
      fc.property(request, request, request, (a, b, c) => {
        expect(joined(a, b)).toEqual(joined(b, a));
        expect(joined(joined(a, b), c)).toEqual(joined(a, joined(b, c)));
        expect(joined(joined(a, b), a)).toEqual(joined(a, b));
        expect(joined(a, a)).toEqual(a);
      }),
    );
  });
});
