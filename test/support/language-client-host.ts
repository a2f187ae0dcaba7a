import { registerHooks } from 'node:module';

/** What stands for any part of `vscode` that the client library names and nobody here uses: callable, and a base class. */
const ANY = `
  const { EventEmitter: NodeEmitter } = require('node:events');
  class Disposable { constructor(end) { this.end = end; } dispose() { this.end?.(); } static from() { return new Disposable(); } }
  class EventEmitter {
    #node = new NodeEmitter().setMaxListeners(0);
    event = (listener) => { this.#node.on('event', listener); return new Disposable(() => this.#node.off('event', listener)); };
    fire(value) { this.#node.emit('event', value); }
    dispose() { this.#node.removeAllListeners(); }
  }
  class CancellationTokenSource {
    #emitter = new EventEmitter();
    token = { isCancellationRequested: false, onCancellationRequested: this.#emitter.event };
    cancel() { this.token.isCancellationRequested = true; this.#emitter.fire(); }
    dispose() {}
  }
  class Any { constructor() {} }
  const listen = () => new Disposable();
  const space = (known = {}) => new Proxy(known, { get: (all, name) => name in all ? all[name] : /^on(Did|Will)/.test(String(name)) ? listen : () => new Disposable() });
  module.exports = new Proxy(
    {
      __esModule: true, version: '1.105.0', Disposable, EventEmitter, CancellationTokenSource,
      env: space({ language: 'en', appName: 'test' }),
      workspace: space({ workspaceFolders: [], textDocuments: [], notebookDocuments: [], getConfiguration: () => ({ get: (_name, other) => other, inspect: () => undefined }) }),
      window: space({ visibleTextEditors: [], tabGroups: space({ all: [] }), createOutputChannel: () => space() }),
      languages: space(), commands: space(),
      Uri: { parse: (text) => ({ toString: () => text }), file: (path) => ({ toString: () => 'file://' + path }) },
    },
    { get: (all, name) => (name in all ? all[name] : typeof name === 'string' && /^[A-Z]/.test(name) ? Any : undefined) },
  );
`;

/**
 * To be called before the client library is imported: it finds a \`vscode\` in which it can talk to a server, and of which
 * it uses nothing else.
 */
export function hostLanguageClient(): void {
  registerHooks({
    resolve: (name, context, next) =>
      name === 'vscode'
        ? { url: 'fairlead-test:vscode', format: 'commonjs', shortCircuit: true }
        : next(name, context),
    load: (url, context, next) =>
      url === 'fairlead-test:vscode'
        ? { format: 'commonjs', source: ANY, shortCircuit: true }
        : next(url, context),
  });
}
