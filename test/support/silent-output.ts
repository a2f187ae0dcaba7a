import type { LogOutputChannel } from 'vscode';

/** A log of the editor that nobody reads. */
export function silentOutput(): LogOutputChannel {
  const nothing = () => {};
  const listen = () => ({ dispose: nothing });
  const log: object = new Proxy(
    { logLevel: 0, onDidChangeLogLevel: listen },
    { get: (known, name) => (name in known ? Reflect.get(known, name) : nothing) },
  );
  return log as LogOutputChannel;
}
