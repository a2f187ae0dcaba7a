import { registerHooks } from 'node:module';
import { join } from 'node:path';

/**
 * What stands for `vscode` where the client library looks for it: what the units under test have, and for any other part,
 * which the library names and nobody here uses, something that can be called and extended.
 */
const ANY = `
  const known = require(${JSON.stringify(join(import.meta.dirname, 'vscode.ts'))});
  class Any { constructor() {} }
  const listen = () => new known.Disposable(() => {});
  const space = (own = {}) => new Proxy(own, { get: (all, name) => name in all ? all[name] : listen });
  module.exports = new Proxy(
    {
      ...known, __esModule: true, version: '1.105.0',
      env: space({ language: 'en', appName: 'test' }),
      workspace: space({ workspaceFolders: [], textDocuments: [], notebookDocuments: [], getConfiguration: () => ({ get: (_name, other) => other, inspect: () => undefined }) }),
      window: space({ visibleTextEditors: [], tabGroups: space({ all: [] }), createOutputChannel: () => space() }),
      languages: space(), commands: space(),
    },
    { get: (all, name) => (name in all ? all[name] : typeof name === 'string' && /^[A-Z]/.test(name) ? Any : undefined) },
  );
`;

/**
 * To be called before the client library is imported: it finds a `vscode` in which it can talk to a server, and of which
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
