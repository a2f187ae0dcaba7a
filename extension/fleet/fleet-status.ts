import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';
import { tooltipText } from '../window/markdown-text.ts';
import type { Fleet } from './fleet.ts';

/** One item in the status bar: how many need the person, and how the sidecar is, with what can be done about it. */
export class FleetStatus implements vscode.Disposable {
  readonly #fleet: Fleet;
  readonly #connection: Connection;
  readonly #item: vscode.StatusBarItem;
  readonly #disposables: vscode.Disposable[];

  constructor(fleet: Fleet, connection: Connection) {
    this.#fleet = fleet;
    this.#connection = connection;
    this.#item = vscode.window.createStatusBarItem('fleet', vscode.StatusBarAlignment.Left, 10);
    this.#item.name = 'Fairlead';
    this.#item.command = 'fairlead.showFleet';
    this.#disposables = [
      this.#item,
      fleet.onDidChange(() => this.#draw()),
      connection.onDidChangeState(() => this.#draw()),
    ];
    this.#draw();
    this.#item.show();
  }

  #draw(): void {
    const { state } = this.#connection;
    const sessions = this.#fleet.sessions;
    const needing = sessions.filter((session) => session.state === 'needs-you').length;
    const working = sessions.filter((session) => session.state === 'working').length;
    this.#item.backgroundColor = undefined;
    if (state.kind === 'failed') {
      this.#item.text = '$(error) Fairlead';
      this.#item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
    } else if (state.kind === 'ended') {
      this.#item.text = '$(debug-disconnect) Fairlead';
    } else if (state.kind === 'lost') {
      this.#item.text = '$(sync~spin) Fairlead';
    } else if (needing > 0) {
      this.#item.text = `$(bell-dot) ${needing}`;
      this.#item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
    } else if (working > 0) {
      this.#item.text = `$(type-hierarchy-sub) ${working}`;
    } else {
      this.#item.text = '$(type-hierarchy-sub)';
    }
    const words = this.#words(needing, working, sessions.length);
    this.#item.accessibilityInformation = { label: `Fairlead: ${words}` };
    this.#item.tooltip = this.#tooltip(words);
  }

  #words(needing: number, working: number, all: number): string {
    const { state } = this.#connection;
    if (state.kind === 'failed') return state.failure.message;
    if (state.kind === 'lost') return 'the connection to the sidecar is being made again';
    if (state.kind === 'ended') return 'the sidecar was ended; agents go on';
    if (state.kind === 'off') return 'the sidecar is started with the first session';
    if (state.kind === 'connecting') return 'connecting to the sidecar';
    if (all === 0) return 'no session';
    const parts = [`${all} ${all === 1 ? 'session' : 'sessions'}`];
    if (working > 0) parts.push(`${working} working`);
    if (needing > 0) parts.push(`${needing} ${needing === 1 ? 'needs' : 'need'} you`);
    return parts.join(', ');
  }

  #tooltip(words: string): vscode.MarkdownString {
    const { state } = this.#connection;
    const text = new vscode.MarkdownString('', true);
    text.isTrusted = {
      enabledCommands: [
        'fairlead.showFleet',
        'fairlead.newSession',
        'fairlead.doctor',
        'fairlead.restartSidecar',
        'fairlead.showLog',
        'fairlead.retry',
      ],
    };
    text.appendMarkdown(`**Fairlead**: ${tooltipText(words)}`);
    if (state.kind === 'failed' && state.failure.hint !== undefined) {
      text.appendMarkdown(`\n\n${tooltipText(state.failure.hint)}`);
    }
    if (state.kind === 'ready') {
      text.appendMarkdown(`\n\n${tooltipText(`Sidecar ${state.info.version}, pid ${state.info.pid}`)}`);
    }
    text.appendMarkdown('\n\n---\n\n');
    const links = [
      state.kind === 'failed'
        ? '[$(refresh) Try again](command:fairlead.retry)'
        : state.kind === 'ended'
          ? '[$(play) Start](command:fairlead.retry)'
          : '[$(add) New session](command:fairlead.newSession)',
      '[$(pulse) Doctor](command:fairlead.doctor)',
      '[$(output) Log](command:fairlead.showLog)',
      '[$(debug-restart) Restart](command:fairlead.restartSidecar)',
    ];
    text.appendMarkdown(links.join(' &nbsp; '));
    return text;
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
