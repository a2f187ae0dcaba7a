import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Finding } from '../protocol/protocol.ts';

/** What can be said when not even the sidecar starts. */
export function inspectWithoutSidecar(error: Error): Finding[] {
  const hint = error instanceof FairleadError ? (error.hint ?? null) : 'Run `fairlead logs`.';
  return [
    { check: 'node', state: 'ok', found: `${process.version} at ${process.execPath}`, hint: null },
    { check: 'sidecar', state: 'problem', found: messageOf(error), hint },
  ];
}
