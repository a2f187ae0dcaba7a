import type { ConsoleMessage } from 'playwright-core';

/**
 * What VS Code says of itself: by its words, and by the address that they are about or come from where the words alone
 * could be anybody's. Each was seen with an empty window, or with the extension's part in it ruled out.
 */
const NOT_OURS: readonly { text: RegExp; url?: RegExp }[] = [
  // Files that only the program around the server has.
  {
    text: /^Failed to load resource: .* 404 /,
    url: /\/favicon[\w-]*\.(ico|svg)$|\/media\/templates\.png$|\/vsda(_bg)?\.(js|wasm)$|\/update\/check$/,
  },
  { text: /^A bad HTTP response code \(404\) was received when fetching the script\.$/, url: /^$/ },
  { text: /\[Service Worker\] registration TypeError: .*\/serviceWorker\.js/ },
  // The gallery of extensions, where there is no network.
  { text: /^Failed to load resource: net::ERR_/, url: /^https:\/\/open-vsx\.org\// },
  { text: /Failed: getaddrinfo \w+ open-vsx\.org/ },
  // What its own services gave up when the page went or began anew. An extension's would come with its name or scheme.
  {
    text: /^(?!.*\b(fairlead(-text)?:|fairlead\.fairlead\b)).*\bCanceled: Canceled\b/s,
    url: /\/workbench\.js$/,
  },
  // A sign-in that the server has no extension for.
  { text: /Timed out waiting for authentication provider 'github' to register/ },
  // The workbench's own services, when the page goes.
  { text: /\[lifecycle\] Long running operations during shutdown are unsupported in the web/ },
  { text: /Unable to write file 'vscode-log:.*\(Error: IndexedDB database 'vscode-web-db' is closed\.\)/ },
];

/** What a message of a window's console says is wrong; undefined when it is no error, or nobody's but VS Code's. */
export function errorIn(message: ConsoleMessage): string | undefined {
  if (message.type() !== 'error') return undefined;
  const text = message.text();
  const { url } = message.location();
  if (NOT_OURS.some((each) => each.text.test(text) && (each.url?.test(url) ?? true))) return undefined;
  return url === '' ? text : `${text} (${url})`;
}
