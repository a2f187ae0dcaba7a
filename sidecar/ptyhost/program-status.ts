import { PROGRAM_STATES, type ProgramStatus } from '../protocol/ptywire.ts';

/** Longest message that is kept, in bytes of UTF-8. */
export const MAX_MESSAGE_BYTES = 4 * 1024;

const MAX_FIELD = 200;

/** What a program asks or says with one OSC 7501. */
export type StatusMessage = { query: true } | { query: false; status: ProgramStatus };

/** Written to the program in answer to its query; any `7501;?` string tells it that reports are read. */
export const STATUS_REPLY = '\u001b]7501;?\u001b\\';

/**
 * Parses what stands between `ESC ] 7501 ;` and its terminator: `?`, or `key=value` pairs parted by `:`, of which
 * `msg` is base64. Undefined for a report without a state; one that is not known is kept as `reported`, of a program that
 * may need somebody. Source: Program Status Protocol, as Claude Code 2.1.295 and later write it.
 */
export function parseStatus(body: string): StatusMessage | undefined {
  if (body.startsWith('?')) return { query: true };
  const fields = new Map<string, string>();
  for (const pair of body.split(':')) {
    const equals = pair.indexOf('=');
    if (equals > 0) fields.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  const reported = clean(fields.get('state') ?? '').slice(0, MAX_FIELD);
  if (reported === '') return undefined;
  const known = PROGRAM_STATES.find((state) => state === reported);
  const status: ProgramStatus = known === undefined ? { state: 'blocked', reported } : { state: known };
  for (const name of ['app', 'kind', 'id', 'progress'] as const) {
    const value = clean(fields.get(name) ?? '').slice(0, MAX_FIELD);
    if (value !== '') status[name] = value;
  }
  const encoded = fields.get('msg');
  if (encoded !== undefined) {
    const message = clean(decode(encoded));
    if (message !== '') status.msg = message;
  }
  return { query: false, status };
}

/** Cut before decoding, so that a huge message costs nothing; the cut may fall into a character, which then goes. */
function decode(base64: string): string {
  const bytes = Buffer.from(base64.slice(0, Math.ceil((MAX_MESSAGE_BYTES * 4) / 3) + 4), 'base64');
  const text = bytes.subarray(0, MAX_MESSAGE_BYTES).toString('utf8');
  return bytes.length > MAX_MESSAGE_BYTES ? text.replace(/\uFFFD$/, '') : text;
}

/** Without control characters (C0, DEL, C1) and the marks that turn the direction of text around. */
function clean(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, ' ').trim();
}
