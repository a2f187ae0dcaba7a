import { appendFileSync, renameSync, statSync } from 'node:fs';
import { messageOf } from '../protocol/errors.ts';
import type { Clock } from './clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Structured log of one process. Values named or shaped like a secret are never written. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

const SECRET_NAME = /token|secret|password|passphrase|api_?key|ticket|credential|authorization/i;
/** Credentials inside a text: the user part of a URL, keys of Anthropic, GitHub and GitLab, bearer tokens. */
const SECRET_TEXT =
  /(?<=:\/\/)[^\s/@]+(?=@)|\bsk-ant-[\w-]{8,}|\b(?:gh[oprsu]|github_pat|glpat)[_-][\w-]{16,}|(?<=\bBearer )[\w.~+/=-]{8,}/gi;
const ORDER: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const MAX_BYTES = 8 * 1024 * 1024;

/** One JSON object a line, appended synchronously so that the last line before a crash is there; two files of 8 MiB. */
export function fileLog(file: string, source: string, clock: Clock, threshold: LogLevel = 'info'): Log {
  let bytes = sizeOf(file);
  const write = (level: LogLevel, event: string, fields: Record<string, unknown> = {}) => {
    if (ORDER[level] < ORDER[threshold]) return;
    const line = `${JSON.stringify({ at: new Date(clock.now()).toISOString(), level, source, event, ...fields }, redact)}\n`;
    try {
      if (bytes > MAX_BYTES) {
        renameSync(file, `${file}.1`);
        bytes = 0;
      }
      appendFileSync(file, line, { mode: 0o600 });
      bytes += Buffer.byteLength(line);
    } catch {
      // A full disk must not stop a landing; there is nowhere left to say so.
    }
  };
  return {
    debug: (event, fields) => write('debug', event, fields),
    info: (event, fields) => write('info', event, fields),
    warn: (event, fields) => write('warn', event, fields),
    error: (event, fields) => write('error', event, fields),
  };
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

function redact(name: string, value: unknown): unknown {
  if (SECRET_NAME.test(name) && value !== undefined) return '[redacted]';
  if (value instanceof Error) return withoutSecrets(messageOf(value));
  if (typeof value === 'string') return withoutSecrets(value);
  return typeof value === 'bigint' ? Number(value) : value;
}

/** `text` with what looks like a credential replaced. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET_TEXT, '[redacted]');
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
