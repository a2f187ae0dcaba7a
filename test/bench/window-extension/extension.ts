import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import * as vscode from 'vscode';
import { descriptionOf, iconOf, spokenOf } from '../../../extension/fleet/session-look.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';

/** What a benchmark in a window asks of its extension host, over HTTP on loopback. */
export interface HostAnswers {
  /** When what happened to Fairlead, in milliseconds since the epoch; null for what has not happened. */
  '/activation': {
    /** Its `activate` was called. */
    began: number | null;
    /** It knows its rows. */
    known: number | null;
    /** The editor, which opens the view meanwhile, has asked for them. */
    asked: number | null;
    /** The editor has them. */
    handed: number | null;
  };
  /** The peer's tree is drawn anew as a whole, with the sessions that were sent; `at` in milliseconds since the epoch. */
  '/draw-peer': { at: number };
  /** Opens the peer's view. */
  '/show-peer': object;
  '/show-fleet': object;
  /** Shows another view in place of the fleet. */
  '/hide-fleet': object;
}

/** The same sessions in the same words, as the sample of the documentation has a tree: everything is drawn anew. */
class PeerTree implements vscode.TreeDataProvider<Session> {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  #sessions: readonly Session[] = [];

  draw(sessions: readonly Session[]): number {
    this.#sessions = sessions;
    const at = Date.now();
    this.#changed.fire(undefined);
    return at;
  }

  getChildren(session?: Session): Session[] {
    return session === undefined ? [...this.#sessions] : [];
  }

  getTreeItem(session: Session): vscode.TreeItem {
    const item = new vscode.TreeItem(session.title);
    const now = Date.now();
    item.id = session.id;
    item.description = descriptionOf(session, now);
    item.iconPath = iconOf(session);
    item.resourceUri = vscode.Uri.from({ scheme: 'bench-peer', path: `/${session.id}` });
    item.contextValue = 'peer';
    item.accessibilityInformation = { label: spokenOf(session, now) };
    return item;
  }
}

const peer = new PeerTree();

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(vscode.window.registerTreeDataProvider('bench.peer', peer));
}

/** As a test of the extension host, which is how it is told where to: serves until the window goes. */
export function run(): Promise<void> {
  const server = createServer((request, response) => {
    void answer(request).then((value) => response.end(JSON.stringify(value)));
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address !== 'object' || address === null) return;
    writeFileSync(process.env.FAIRLEAD_BENCH_PORT_FILE ?? '', String(address.port));
  });
  return new Promise(() => {});
}

async function answer(request: IncomingMessage): Promise<HostAnswers[keyof HostAnswers]> {
  switch (request.url) {
    case '/draw-peer':
      return { at: peer.draw(JSON.parse(await text(request)) as Session[]) };
    case '/show-peer':
      await vscode.commands.executeCommand('bench.peer.focus');
      return {};
    case '/show-fleet':
      await vscode.commands.executeCommand('fairlead.fleet.focus');
      return {};
    case '/hide-fleet':
      await vscode.commands.executeCommand('workbench.view.explorer');
      return {};
    default:
      return {
        began: at('fairlead.activate'),
        known: at('fairlead.known'),
        asked: at('fairlead.asked'),
        handed: at('fairlead.handed'),
      };
  }
}

/** When a mark was set for the first time. */
function at(mark: string): number | null {
  const [reached] = performance.getEntriesByName(mark);
  return reached === undefined ? null : performance.timeOrigin + reached.startTime;
}
