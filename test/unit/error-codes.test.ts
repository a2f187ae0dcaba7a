import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../sidecar/protocol/errors.ts';

const SIDECAR = join(import.meta.dirname, '../../sidecar');

describe('error codes', () => {
  it('are sorted, so that two changes do not meet', () => {
    expect([...ERROR_CODES]).toEqual([...ERROR_CODES].sort());
  });

  it('are all in use', () => {
    const text = readdirSync(SIDECAR, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith(join('protocol', 'errors.ts')))
      .map((name) => readFileSync(join(SIDECAR, name), 'utf8'))
      .join('\n');
    expect(ERROR_CODES.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  });
});
