import * as vscode from 'vscode';
import type { Pane } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { SessionPty } from './session-pty.ts';

interface Opened {
  session: string;
  pane: Pane;
  terminal: vscode.Terminal;
  pty: SessionPty;
}

/** Where the terminals that are open in this workspace are kept, so that a reload has them again. */
const KEPT = 'terminals';
/** Which of them is in front. */
const FRONT = 'terminals.front';

/** The terminals of sessions in this window: one for each pane of a session, opened again after a reload. */
export class SessionTerminals implements vscode.Disposable {
  readonly #connection: Connection;
  readonly #fleet: Fleet;
  readonly #state: vscode.Memento;
  readonly #opened = new Map<string, Opened>();
  readonly #disposables: vscode.Disposable[];
  #restored = false;

  constructor(connection: Connection, fleet: Fleet, state: vscode.Memento) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#state = state;
    this.#disposables = [
      vscode.window.onDidCloseTerminal((terminal) => this.#onClose(terminal)),
      vscode.window.onDidChangeActiveTerminal(() => {
        this.#markSeen();
        this.#keepFront();
      }),
      vscode.window.onDidChangeWindowState(() => this.#markSeen()),
      fleet.onDidChange((change) => {
        if (change.kind === 'all') return this.#restore();
        const { session, before } = change;
        if (before?.title !== session.title) this.#rename(session);
        if (session.unread) this.#markSeen();
        if (session.facts.life === 'active' && before?.facts.life !== 'active') this.#rejoin(session);
        return undefined;
      }),
    ];
  }

  /** Shows a pane of a session, in the terminal that it has or in a new one. */
  show(session: Session, pane: Pane, preserveFocus = false): void {
    const opened = this.#opened.get(keyOf(session.id, pane)) ?? this.#open(session, pane);
    opened.terminal.show(preserveFocus);
  }

  /** Whether the person looks at the agent of a session. */
  isOnScreen(session: string): boolean {
    const terminal = this.#opened.get(keyOf(session, 'agent'))?.terminal;
    return terminal !== undefined && vscode.window.activeTerminal === terminal && vscode.window.state.focused;
  }

  /** The session whose terminal has the focus. */
  get active(): string | undefined {
    const active = vscode.window.activeTerminal;
    return [...this.#opened.values()].find(({ terminal }) => terminal === active)?.session;
  }

  /** Closes what shows a session; its programs go on. */
  close(session: string): void {
    for (const opened of [...this.#opened.values()]) {
      if (opened.session === session) opened.terminal.dispose();
    }
  }

  #open(session: Session, pane: Pane): Opened {
    const pty = new SessionPty((options) => this.#connection.attach(session.id, pane, options), pane);
    const location = vscode.workspace
      .getConfiguration('fairlead')
      .get<'panel' | 'editor'>('terminalLocation', 'panel');
    const terminal = vscode.window.createTerminal({
      name: nameOf(session, pane),
      pty,
      isTransient: true,
      iconPath: new vscode.ThemeIcon(pane === 'agent' ? 'hubot' : 'terminal'),
      location: location === 'editor' ? vscode.TerminalLocation.Editor : vscode.TerminalLocation.Panel,
    });
    const opened = { session: session.id, pane, terminal, pty };
    this.#opened.set(keyOf(session.id, pane), opened);
    this.#keep();
    return opened;
  }

  #restore(): void {
    if (this.#restored || !this.#fleet.isLoaded) return;
    this.#restored = true;
    const front = this.#state.get<string>(FRONT);
    for (const key of this.#state.get<string[]>(KEPT, [])) {
      const [id = '', pane] = key.split(':');
      const session = this.#fleet.get(id);
      // A terminal that is drawn again must not start what sleeps or was lost.
      if (session === undefined || session.facts.life !== 'active') continue;
      if (session.reason?.kind === 'terminal-lost') continue;
      if (pane !== 'agent' && pane !== 'shell') continue;
      // Shown, or it would be drawn in a size that nobody sees.
      if (!this.#opened.has(key)) this.#open(session, pane).terminal.show(true);
    }
    if (front !== undefined) this.#opened.get(front)?.terminal.show(true);
    this.#keep();
  }

  #rename(session: Session): void {
    for (const { session: id, pane, pty } of this.#opened.values()) {
      if (id === session.id) pty.rename(nameOf(session, pane));
    }
  }

  /** A prompt has woken the agent: its terminal is that of the one that ended before. */
  #rejoin(session: Session): void {
    this.#opened.get(keyOf(session.id, 'agent'))?.pty.rejoin();
  }

  #markSeen(): void {
    const id = this.active;
    const session = id === undefined ? undefined : this.#fleet.get(id);
    if (session === undefined || !session.unread || !this.isOnScreen(session.id)) return;
    void this.#connection.request('MarkRead', { session: session.id }).catch(() => {});
  }

  #onClose(terminal: vscode.Terminal): void {
    // Closing a window closes its terminals, too: they are to be there again.
    if (terminal.exitStatus?.reason === vscode.TerminalExitReason.Shutdown) return;
    for (const [key, opened] of this.#opened) {
      if (opened.terminal === terminal) this.#opened.delete(key);
    }
    this.#keep();
  }

  #keep(): void {
    void this.#state.update(KEPT, [...this.#opened.keys()]);
  }

  #keepFront(): void {
    const active = vscode.window.activeTerminal;
    const front = [...this.#opened].find(([, { terminal }]) => terminal === active);
    if (front !== undefined) void this.#state.update(FRONT, front[0]);
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

function keyOf(session: string, pane: Pane): string {
  return `${session}:${pane}`;
}

function nameOf(session: Session, pane: Pane): string {
  return pane === 'agent' ? session.title : `${session.title} (shell)`;
}
