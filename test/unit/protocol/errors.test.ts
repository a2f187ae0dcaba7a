import { describe, expect, it } from 'vitest';
import { asFairleadError } from '../../../sidecar/protocol/errors.ts';
import { withHint } from '../../../sidecar/queue/trouble.ts';

describe('an error of the system', () => {
  it('is told in our words when the disk is full, also by what waits for it', () => {
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      path: '/r/.git/journal',
    });
    expect(asFairleadError(error)).toMatchObject({
      code: 'disk.full',
      message: 'The disk is full: /r/.git/journal could not be written.',
    });
    expect(withHint(error)).toContain('Free some space');
    expect(asFairleadError(new Error('Something else'))).toMatchObject({ code: 'internal' });
    expect(withHint(new Error('Something else'))).toBe('Something else');
  });
});
