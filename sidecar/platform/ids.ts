import { randomBytes, randomUUID } from 'node:crypto';

/** Identity and randomness come in through here, so that tests can own them. */
export interface Ids {
  /** A random UUID, version 4, lower case. */
  uuid(): string;
  /** `length` characters of Crockford's base 32 in lower case: no `i`, `l`, `o`, `u`. */
  short(length: number): string;
  /** A capability: 32 random bytes as 43 characters of base64url. */
  secret(): string;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  short: (length) => Array.from(randomBytes(length), (byte) => ALPHABET[byte & 31]).join(''),
  secret: () => randomBytes(32).toString('base64url'),
};
