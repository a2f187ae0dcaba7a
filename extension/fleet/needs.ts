import * as vscode from 'vscode';
import type { ReasonKind } from '../../sidecar/protocol/reason.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Fleet } from './fleet.ts';

export interface NeedActions {
  /** Whether the person looks at the session's terminal. */
  isOnScreen(session: string): boolean;
  isOfWindow(repo: string): boolean;
  /** Of what `session` asks; undefined has the person asked. */
  answer(session: Session, answer: 'allow' | 'deny' | undefined): void;
  open(session: string): void;
  land(session: string): void;
}

/** Needs that are answered with allow or deny. */
const YES_OR_NO: readonly ReasonKind[] = ['permission', 'trust'];
const ANSWERED: readonly ReasonKind[] = [...YES_OR_NO, 'question', 'plan'];

/** How long a need has to last before it is told: a person who answers in the terminal is not to be disturbed. */
const SETTLE_MS = 600;

/**
 * One notification for each need of this window's repositories, with what can be done about it. Quiet while the
 * session is on screen, and for what was needed before the window came.
 */
export class Needs implements vscode.Disposable {
  readonly #fleet: Fleet;
  readonly #actions: NeedActions;
  /** The needs that were told or need not be, by session. */
  readonly #told = new Map<string, number | null>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #disposables: vscode.Disposable[];
  #sawFleet = false;

  constructor(fleet: Fleet, actions: NeedActions) {
    this.#fleet = fleet;
    this.#actions = actions;
    this.#disposables = [
      fleet.onDidChange((change) => {
        if (change.kind === 'session') return this.#look(change.session);
        for (const session of fleet.sessions) {
          // The badge and the tree show what was there before.
          if (!this.#sawFleet && session.state === 'needs-you') this.#told.set(session.id, session.need);
          this.#look(session);
        }
        this.#sawFleet = true;
        return undefined;
      }),
    ];
  }

  #look({ id, state, need }: Session): void {
    if (state !== 'needs-you') {
      clearTimeout(this.#timers.get(id));
      this.#timers.delete(id);
      return;
    }
    if (this.#told.get(id) === need || this.#timers.has(id)) return;
    this.#timers.set(
      id,
      setTimeout(() => {
        this.#timers.delete(id);
        void this.#tell(id);
      }, SETTLE_MS),
    );
  }

  async #tell(id: string): Promise<void> {
    const session = this.#fleet.get(id);
    if (session === undefined || session.state !== 'needs-you' || session.reason === null) return;
    if (this.#told.get(id) === session.need) return;
    this.#told.set(id, session.need);
    if (!this.#actions.isOfWindow(session.repo) || this.#actions.isOnScreen(id)) return;
    if (!vscode.workspace.getConfiguration('fairlead').get<boolean>('notifications', true)) return;
    const { kind, message } = session.reason;
    const actions = actionsOf(kind);
    const chosen = await vscode.window.showWarningMessage(`${session.title}: ${message}`, ...actions);
    if (chosen === undefined) return;
    if (chosen === 'Allow') return this.#actions.answer(session, 'allow');
    if (chosen === 'Deny') return this.#actions.answer(session, 'deny');
    if (chosen === 'Answer…') return this.#actions.answer(session, undefined);
    if (chosen === 'Land Again') return this.#actions.land(id);
    this.#actions.open(id);
  }

  dispose(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const each of this.#disposables) each.dispose();
  }
}

function actionsOf(kind: ReasonKind): string[] {
  if (YES_OR_NO.includes(kind)) return ['Allow', 'Deny', 'Open Terminal'];
  if (ANSWERED.includes(kind)) return ['Answer…', 'Open Terminal'];
  if (kind === 'landing-stopped' || kind === 'check-failed' || kind === 'base-refuses-pushes') {
    return ['Land Again', 'Open Terminal'];
  }
  return ['Open Terminal'];
}
