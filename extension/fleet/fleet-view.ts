import * as vscode from 'vscode';
import type { Connection, ConnectionState } from '../connection/connection.ts';
import { AgentCheck } from './agent-check.ts';
import { SessionDecorations } from './decorations.ts';
import type { Fleet } from './fleet.ts';
import { type FleetNode, FleetTree } from './fleet-tree.ts';
import type { LastUsed } from './last-used.ts';
import type { Repositories } from './repositories.ts';

interface Parts {
  connection: Connection;
  fleet: Fleet;
  repositories: Repositories;
  lastUsed: LastUsed;
}

/** What an empty view says, as `viewsWelcome` matches it. */
type Emptiness =
  | 'connecting'
  | 'failed'
  | 'ended'
  | 'no-repository'
  | 'no-commit'
  | 'no-claude'
  | 'no-session';

/** What stands above the rows while they may be out of date. */
const MESSAGE: Partial<Record<ConnectionState['kind'], string>> = {
  lost: 'The connection to the sidecar is being made again…',
  failed: 'Not connected to the sidecar. This is how the sessions were.',
  ended: 'The sidecar was ended. This is how the sessions were.',
};

/** The Fairlead view: the tree, its badge, and what is said while it is empty. */
export class FleetView implements vscode.Disposable {
  readonly #parts: Parts;
  readonly #tree: FleetTree;
  readonly #view: vscode.TreeView<FleetNode>;
  readonly #disposables: vscode.Disposable[];
  readonly #agent: AgentCheck;
  /** What the renderer was told last: most changes of a session change none of it. */
  readonly #told = new Map<string, unknown>();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { fleet, connection, repositories, lastUsed } = parts;
    this.#agent = new AgentCheck(connection, () => this.#draw());
    this.#tree = new FleetTree(fleet, repositories);
    this.#view = vscode.window.createTreeView('fairlead.fleet', {
      treeDataProvider: this.#tree,
      showCollapseAll: false,
    });
    this.#disposables = [
      this.#view,
      this.#tree,
      new SessionDecorations(fleet),
      fleet.onDidChange(() => this.#draw()),
      connection.onDidChangeState(({ kind }) => {
        if (kind === 'ready') this.#agent.forget();
        this.#draw();
      }),
      repositories.onDidChange(() => {
        // It was looked for anew, as by Look Again.
        this.#agent.forget();
        this.#tree.refreshIfMoved();
        this.#draw();
      }),
      this.#view.onDidChangeSelection(({ selection: [node] }) => {
        if (node?.kind === 'session') lastUsed.use(node.id);
      }),
      this.#view.onDidChangeVisibility(() => {
        void this.#connect();
        this.#draw();
      }),
    ];
    void this.#connect();
    this.#draw();
  }

  /** Resolves when the rows were handed to VS Code for the first time; never while nobody looks. */
  get whenDrawn(): Promise<void> {
    return this.#tree.whenDrawn;
  }

  /** A view that is looked at wants to know what there is. */
  async #connect(): Promise<void> {
    const { connection } = this.#parts;
    await connection.whenOpened;
    if (!this.#view.visible || connection.state.kind !== 'off') return;
    // The connection tells of a failure by its state.
    connection.start().catch(() => {});
  }

  #draw(): void {
    const needing = this.#parts.fleet.sessions.filter(({ state }) => state === 'needs-you').length;
    this.#tell('badge', needing, () => {
      const tooltip = `${needing} ${needing === 1 ? 'session needs' : 'sessions need'} you`;
      this.#view.badge = needing === 0 ? undefined : { value: needing, tooltip };
    });
    this.#setContext('fairlead.empty', this.#emptiness());
    this.#setContext(
      'fairlead.hasQueued',
      this.#parts.fleet.sessions.some(({ queue }) => queue !== null),
    );
    const { state } = this.#parts.connection;
    // A message takes the place of what is said without rows. An empty text is none. VS Code counts each that is set as a
    // change of rows, and draws none a moment after.
    const hasRows = this.#parts.fleet.sessions.length > 0;
    const message = (hasRows ? MESSAGE[state.kind] : undefined) ?? '';
    if ((this.#view.message ?? '') !== message) this.#view.message = message;
  }

  #setContext(key: string, value: unknown): void {
    this.#tell(key, value, () => void vscode.commands.executeCommand('setContext', key, value));
  }

  #tell(what: string, value: unknown, tell: () => void): void {
    if (this.#told.has(what) && this.#told.get(what) === value) return;
    this.#told.set(what, value);
    tell();
  }

  #emptiness(): Emptiness {
    const { connection, fleet, repositories } = this.#parts;
    const { kind } = connection.state;
    if (kind === 'failed' || kind === 'ended') return kind;
    if (!fleet.isLoaded || !repositories.isKnown) return 'connecting';
    if (repositories.all.length === 0) return 'no-repository';
    if (repositories.areEmpty) return 'no-commit';
    // Only where nothing was ever started: whoever has sessions has an agent.
    if (fleet.sessions.length === 0) this.#agent.ask();
    return this.#agent.isMissing ? 'no-claude' : 'no-session';
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
