import * as vscode from 'vscode';
import type { ConnectionState } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { SessionDecorations } from './decorations.ts';
import { type FleetNode, FleetTree } from './fleet-tree.ts';

/** What an empty view says, as `viewsWelcome` matches it. */
type Emptiness = 'connecting' | 'failed' | 'no-repository' | 'no-claude' | 'no-session';

/** What stands above the rows while they may be out of date. */
const MESSAGE: Partial<Record<ConnectionState['kind'], string>> = {
  lost: 'The connection to the sidecar is being made again…',
  failed: 'Not connected to the sidecar. This is how the sessions were.',
};

/** The Fairlead view: the tree, its badge, and what is said while it is empty. */
export class FleetPanel implements vscode.Disposable {
  readonly #context: Context;
  readonly #tree: FleetTree;
  readonly #view: vscode.TreeView<FleetNode>;
  readonly #disposables: vscode.Disposable[];
  #claudeIsMissing = false;
  #asked = false;

  constructor(context: Context) {
    this.#context = context;
    const { fleet, connection, repositories } = context;
    this.#tree = new FleetTree(fleet, () => repositories.all);
    this.#view = vscode.window.createTreeView('fairlead.fleet', {
      treeDataProvider: this.#tree,
      showCollapseAll: false,
    });
    this.#disposables = [
      this.#view,
      this.#tree,
      new SessionDecorations(fleet),
      fleet.onDidChange(() => this.#draw()),
      connection.onDidChangeState(() => this.#draw()),
      repositories.onDidChange(() => {
        this.#tree.refreshIfMoved();
        this.#draw();
      }),
      this.#view.onDidChangeSelection(({ selection: [node] }) => {
        if (node?.kind === 'session') context.lastUsed.use(node.id);
      }),
      this.#view.onDidChangeVisibility(() => {
        this.#connect();
        this.#draw();
      }),
    ];
    this.#connect();
    this.#draw();
  }

  /** A view that is looked at wants to know what there is. */
  #connect(): void {
    if (!this.#view.visible || this.#context.connection.state.kind !== 'off') return;
    // The connection tells of a failure by its state.
    this.#context.connection.start().catch(() => {});
  }

  #draw(): void {
    const needing = this.#context.fleet.sessions.filter(({ state }) => state === 'needs-you').length;
    this.#view.badge =
      needing === 0
        ? undefined
        : { value: needing, tooltip: `${needing} ${needing === 1 ? 'session needs' : 'sessions need'} you` };
    const emptiness = this.#emptiness();
    void vscode.commands.executeCommand('setContext', 'fairlead.empty', emptiness);
    const { state } = this.#context.connection;
    // A message takes the place of what is said without rows. An empty text is none. VS Code counts each that is set as a
    // change of rows, and draws none a moment after.
    const hasRows = this.#context.fleet.sessions.length > 0;
    const message = (hasRows ? MESSAGE[state.kind] : undefined) ?? '';
    if ((this.#view.message ?? '') !== message) this.#view.message = message;
  }

  #emptiness(): Emptiness {
    const { connection, fleet, repositories } = this.#context;
    if (connection.state.kind === 'failed') return 'failed';
    if (!fleet.isLoaded || !repositories.isKnown) return 'connecting';
    if (repositories.all.length === 0) return 'no-repository';
    void this.#askForClaude();
    return this.#claudeIsMissing ? 'no-claude' : 'no-session';
  }

  /** Once, and only where nothing was ever started: whoever has sessions has an agent. */
  async #askForClaude(): Promise<void> {
    if (this.#asked || this.#context.fleet.sessions.length > 0) return;
    this.#asked = true;
    const findings = await this.#context.connection.request('Doctor', { folder: null }).catch(() => []);
    this.#claudeIsMissing = findings.some(({ check, state }) => check === 'claude' && state === 'problem');
    if (this.#claudeIsMissing) this.#draw();
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
