import * as vscode from 'vscode';
import type { Pane } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { LastUsed } from '../fleet/last-used.ts';
import { nameOf } from '../fleet/session-name.ts';
import { setting } from '../window/setting.ts';
import { type Joining, SessionPty } from './session-pty.ts';

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
  readonly #connection: Pick<Connection, 'attach' | 'request' | 'requestIfConnected'>;
  readonly #fleet: Fleet;
  readonly #lastUsed: LastUsed;
  readonly #state: vscode.Memento;
  readonly #opened = new Map<string, Opened>();
  readonly #looked = new vscode.EventEmitter<void>();
  /** What is on screen may be another by now. */
  readonly onDidLook = this.#looked.event;
  readonly #disposables: vscode.Disposable[];
  #restored = false;

  constructor(
    connection: Pick<Connection, 'attach' | 'request' | 'requestIfConnected'>,
    fleet: Fleet,
    lastUsed: LastUsed,
    state: vscode.Memento,
  ) {
    this.#connection = connection;
    this.#fleet = fleet;
    this.#lastUsed = lastUsed;
    this.#state = state;
    this.#disposables = [
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#restore()),
      vscode.window.onDidCloseTerminal((terminal) => this.#onClose(terminal)),
      this.#looked,
      vscode.window.onDidChangeActiveTerminal(() => {
        this.#keepFront();
        lastUsed.use(this.active);
        if (vscode.window.state.focused) this.#front()?.pty.claim();
        // Another one is in front only because it was brought there.
        this.#markSeen();
        this.#looked.fire();
      }),
      vscode.window.onDidChangeWindowState(() => this.#looked.fire()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#looked.fire()),
      fleet.onDidChange((change) => {
        if (change.kind === 'all') return this.#restore();
        const { session, before } = change;
        if (before === undefined || nameOf(before) !== nameOf(session)) this.#rename(session);
        if (session.unread && this.#opened.get(keyOf(session.id, 'agent'))?.pty.hasFocus) this.#markSeen();
        if (session.facts.life === 'active' && before?.facts.life !== 'active') this.#rejoin(session);
        return undefined;
      }),
    ];
  }

  /** Shows a pane of a session, in the terminal that it has or in a new one. */
  show(session: Session, pane: Pane, preserveFocus = false): void {
    const opened = this.#opened.get(keyOf(session.id, pane)) ?? this.#open(session, pane);
    opened.terminal.show(preserveFocus);
    // It may have been in front already.
    if (pane === 'agent') this.#markSeen();
  }

  /**
   * Whether the agent of a session may be on screen: VS Code does not tell whether the panel is hidden, in which the
   * terminal that was in front stays the active one.
   */
  mayBeOnScreen(session: string): boolean {
    const terminal = this.#opened.get(keyOf(session, 'agent'))?.terminal;
    if (terminal === undefined || vscode.window.activeTerminal !== terminal) return false;
    return vscode.window.state.focused && !isBehindAnother(terminal);
  }

  /** When the person last typed to the agent of a session, in milliseconds since the epoch; 0 for never. */
  typedAt(session: string): number {
    return this.#opened.get(keyOf(session, 'agent'))?.pty.typedAt ?? 0;
  }

  /** The session whose terminal is the active one, which may be hidden. */
  get active(): string | undefined {
    return this.#front()?.session;
  }

  /** The session that a terminal of this window is of. */
  sessionOf(terminal: vscode.Terminal): string | undefined {
    return this.#of(terminal)?.session;
  }

  #front(): Opened | undefined {
    return this.#of(vscode.window.activeTerminal);
  }

  #of(terminal: vscode.Terminal | undefined): Opened | undefined {
    return [...this.#opened.values()].find((opened) => opened.terminal === terminal);
  }

  /** Closes what shows a session; its programs go on. */
  close(session: string): void {
    for (const opened of [...this.#opened.values()]) {
      if (opened.session === session) opened.terminal.dispose();
    }
  }

  #open(session: Session, pane: Pane, joining: Joining = 'now'): Opened {
    const pty = new SessionPty(
      (options) => this.#connection.attach(session.id, pane, options),
      pane,
      joining,
    );
    const terminal = vscode.window.createTerminal({
      name: terminalNameOf(session, pane),
      pty,
      isTransient: true,
      iconPath: new vscode.ThemeIcon(pane === 'agent' ? 'hubot' : 'terminal'),
      location:
        setting('terminalLocation') === 'editor'
          ? vscode.TerminalLocation.Editor
          : vscode.TerminalLocation.Panel,
    });
    const opened = { session: session.id, pane, terminal, pty };
    pty.onDidAttend(() => {
      this.#lastUsed.use(session.id);
      if (pane === 'agent') this.#markSeen();
    });
    this.#opened.set(keyOf(session.id, pane), opened);
    this.#keep();
    return opened;
  }

  #restore(): void {
    if (this.#restored || !this.#fleet.isLoaded) return;
    // What is typed in a terminal acts for an agent, or runs in a shell.
    if (!vscode.workspace.isTrusted) return;
    this.#restored = true;
    const front = this.#state.get<string>(FRONT);
    for (const key of this.#state.get<string[]>(KEPT, [])) {
      const [id = '', pane] = key.split(':');
      const session = this.#fleet.get(id);
      if (session === undefined || (pane !== 'agent' && pane !== 'shell') || this.#opened.has(key)) continue;
      // A terminal that is drawn again must not start what sleeps or was lost.
      const isThere = session.facts.life === 'active' && session.reason?.kind !== 'terminal-lost';
      this.#open(session, pane, isThere ? (key === front ? 'now' : 'when-seen') : 'when-asked');
    }
    // Showing any other would open a panel that may have been hidden.
    if (front !== undefined) this.#opened.get(front)?.terminal.show(true);
    this.#keep();
  }

  #rename(session: Session): void {
    for (const { session: id, pane, pty } of this.#opened.values()) {
      if (id === session.id) pty.rename(terminalNameOf(session, pane));
    }
  }

  /** A prompt has woken the agent: its terminal is that of the one that ended before. */
  #rejoin(session: Session): void {
    this.#opened.get(keyOf(session.id, 'agent'))?.pty.rejoin();
  }

  /** To be called when it is known that the person looks at the terminal that is active. */
  #markSeen(): void {
    const id = this.active;
    const session = id === undefined ? undefined : this.#fleet.get(id);
    if (session === undefined || !session.unread || !this.mayBeOnScreen(session.id)) return;
    void this.#connection.requestIfConnected('MarkRead', { session: session.id }).catch(() => {});
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
    // What is not there again yet is not forgotten.
    if (!this.#restored) return;
    void this.#state.update(KEPT, [...this.#opened.keys()]);
  }

  #keepFront(): void {
    // Until they are there again, another terminal than ours is in front of none of them; a window that goes has none.
    if (!this.#restored || vscode.window.activeTerminal === undefined) return;
    const front = this.#front();
    void this.#state.update(FRONT, front && keyOf(front.session, front.pane));
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

function keyOf(session: string, pane: Pane): string {
  return `${session}:${pane}`;
}

/** Whether a terminal is an editor that another one covers; the tab of a terminal tells no more than its name. */
function isBehindAnother({ name }: vscode.Terminal): boolean {
  const tabs = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input, label }) => input instanceof vscode.TabInputTerminal && label === name);
  return tabs.length > 0 && tabs.every(({ isActive }) => !isActive);
}

function terminalNameOf(session: Session, pane: Pane): string {
  return pane === 'agent' ? nameOf(session) : `${nameOf(session)} (shell)`;
}
