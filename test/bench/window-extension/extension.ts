import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as vscode from 'vscode';

/** What a benchmark in a window asks of its extension host, over HTTP on loopback. */
export interface HostAnswers {
  /** Milliseconds from the beginning of Fairlead's `activate`; null for what has not happened. */
  '/activation': {
    /** Its tree has its rows. */
    filled: number | null;
    /** The editor has asked for them and has them: its own time to open a view is part of it. */
    shown: number | null;
  };
  /** The peer's tree is drawn anew as a whole; `at` stands in each of its rows, milliseconds since the epoch. */
  '/redraw-peer': { at: number };
  /** Opens the peer's view. */
  '/show-peer': object;
  '/show-fleet': object;
  /** Shows another view in place of the fleet. */
  '/hide-fleet': object;
}

const ROWS = 200;

/** A tree as the sample of the documentation has it: everything is drawn anew when anything changes. */
class PeerTree implements vscode.TreeDataProvider<number> {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  #at = 0;

  redraw(): number {
    this.#at = Date.now();
    this.#changed.fire(undefined);
    return this.#at;
  }

  getChildren(row?: number): number[] {
    return row === undefined ? Array.from({ length: ROWS }, (_, index) => index) : [];
  }

  getTreeItem(row: number): vscode.TreeItem {
    const item = new vscode.TreeItem(`Peer row ${row}`);
    item.id = String(row);
    item.description = `fairlead/peer-row-${row} at-${this.#at}`;
    item.iconPath = new vscode.ThemeIcon('check', new vscode.ThemeColor('charts.green'));
    item.resourceUri = vscode.Uri.from({ scheme: 'bench-peer', path: `/${row}` });
    item.contextValue = 'peer';
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
    void answer(request.url ?? '').then((value) => response.end(JSON.stringify(value)));
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address !== 'object' || address === null) return;
    writeFileSync(process.env.FAIRLEAD_BENCH_PORT_FILE ?? '', String(address.port));
  });
  return new Promise(() => {});
}

async function answer(path: string): Promise<HostAnswers[keyof HostAnswers]> {
  switch (path) {
    case '/redraw-peer':
      return { at: peer.redraw() };
    case '/show-peer':
      await vscode.commands.executeCommand('bench.peer.focus');
      return {};
    case '/show-fleet':
      await vscode.commands.executeCommand('fairlead.fleet.focus');
      return {};
    case '/hide-fleet':
      await vscode.commands.executeCommand('workbench.view.explorer');
      return {};
    default: {
      const [began] = performance.getEntriesByName('fairlead.activate');
      const since = (mark: string) => {
        const [reached] = performance.getEntriesByName(mark);
        return began && reached ? reached.startTime - began.startTime : null;
      };
      return { filled: since('fairlead.filled'), shown: since('fairlead.shown') };
    }
  }
}
