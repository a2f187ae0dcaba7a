import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../sidecar/platform/migrations.ts';

/** A database knows by number how far it is: an entry that moves or changes makes every older one useless. */
const PINNED = [
  '9b0457dd6f0b',
  'bda556d2ef64',
  'dda3191af9a9',
  '42489f1e4e8e',
  '3bed10c5443c',
  '305ffde4014f',
  '2c242bfa10bb',
  '30433aba76f4',
  'da0616a3d192',
  'cbb706245d98',
  '18ca64304020',
];

describe('the schema', () => {
  it('keeps every migration where it was, as it was: a change is an entry at the end, and a line here', () => {
    const hashes = MIGRATIONS.map((entry) =>
      createHash('sha256').update(String(entry)).digest('hex').slice(0, 12),
    );
    expect(hashes).toEqual(PINNED);
  });
});
