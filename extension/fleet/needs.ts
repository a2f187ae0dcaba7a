import type * as vscode from 'vscode';
import { isOfLanding } from '../../sidecar/protocol/landing.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { showWarning } from '../window/messages.ts';
import { setting } from '../window/setting.ts';
import type { Fleet } from './fleet.ts';
import { nextSteps } from './next-steps.ts';
import { shortNameOf } from './session-name.ts';

export interface NeedActions {
  /** Whether the person may look at the session's terminal; a hidden panel cannot be told from one that is seen. */
  mayBeOnScreen(session: string): boolean;
  /** When the person last typed in it, in milliseconds since the epoch; 0 for never. */
  typedAt(session: string): number;
  /** What is on screen may be another by now. */
  onDidLook: vscode.Event<void>;
  /** Whether who lands the session in this window tells what comes of it. */
  isLanded(session: string): boolean;
  /** Whether the person is answering it, or has done so, in this window. */
  isInHand(session: string, need: number | null): boolean;
  /** The need as the sidecar knows it now; null for none, undefined where it cannot be asked. */
  readNeed(session: string): Promise<number | null | undefined>;
  isOfWindow(repo: string): boolean;
  /** Of what `session` asks; undefined has the person asked. */
  answer(session: Session, answer: 'allow' | 'deny' | undefined): void;
  /** Says that what `session` asked is asked no more. */
  showAlreadyAnswered(session: Session): void;
  open(session: string): void;
  land(session: string): void;
  prompt(session: string): void;
}

/** How long a need has to last before it is told: a person who answers in the terminal is not to be disturbed. */
const SETTLE_MS = 600;
/**
 * How long a need is not told of whose terminal may be on screen, from its beginning or the last key in that terminal.
 * Long enough to read what is asked, short enough for a panel that is hidden or a person who has gone.
 */
const QUIET_MS = 15_000;

/** A need that is not told yet. */
interface Pending {
  need: number | null;
  /** When it was first seen, in milliseconds since the epoch. */
  since: number;
  timer: NodeJS.Timeout;
}

/**
 * One notification for each need of this window's repositories, with what can be done about it. Quiet for what was
 * needed before the window came, and, for a while, where the person may have it on screen.
 *
 * VS Code closes no message for an extension, so one can outlive its need: pressed then, it says so, and answers
 * nothing.
 */
export class Needs implements vscode.Disposable {
  readonly #fleet: Fleet;
  readonly #actions: NeedActions;
  /** The needs that were told or need not be, by session. */
  readonly #told = new Map<string, number | null>();
  readonly #pending = new Map<string, Pending>();
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
      actions.onDidLook(() => {
        for (const [id, { since }] of this.#pending) {
          if (Date.now() - since >= SETTLE_MS && !actions.mayBeOnScreen(id)) this.#due(id);
        }
      }),
    ];
  }

  #look({ id, state, need, reason }: Session): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined && (state !== 'needs-you' || pending.need !== need)) this.#forget(id);
    if (state !== 'needs-you' || this.#told.get(id) === need || this.#pending.has(id)) return;
    if (reason !== null && isOfLanding(reason.kind) && this.#actions.isLanded(id)) {
      this.#told.set(id, need);
      return;
    }
    const timer = setTimeout(() => this.#due(id), SETTLE_MS);
    this.#pending.set(id, { need, since: Date.now(), timer });
  }

  #due(id: string): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    const quietUntil = Math.max(pending.since, this.#actions.typedAt(id)) + QUIET_MS;
    const left = quietUntil - Date.now();
    if (left > 0 && this.#actions.mayBeOnScreen(id)) {
      pending.timer = setTimeout(() => this.#due(id), left);
      return;
    }
    this.#pending.delete(id);
    void this.#tell(id);
  }

  #forget(id: string): void {
    clearTimeout(this.#pending.get(id)?.timer);
    this.#pending.delete(id);
  }

  async #tell(id: string): Promise<void> {
    const session = this.#fleet.get(id);
    if (session === undefined || session.state !== 'needs-you' || session.reason === null) return;
    this.#told.set(id, session.need);
    if (!this.#actions.isOfWindow(session.repo)) return;
    if (!setting('notifications')) return;
    // An answer takes a while to be seen at the agent, and a change to come here.
    if (this.#actions.isInHand(id, session.need)) return;
    const need = await this.#actions.readNeed(id);
    if (need !== undefined && need !== session.need) return;
    if (this.#actions.isInHand(id, session.need) || this.#fleet.get(id)?.need !== session.need) return;
    const { reason } = session;
    const chosen = await showWarning(
      `${shortNameOf(session)}: ${reason.message}`,
      ...nextSteps(reason, session.queue),
    );
    if (chosen === undefined) return;
    const now = this.#fleet.get(id);
    // There is no terminal any more where there is no session.
    if (chosen === 'Open Terminal' && now !== undefined) return this.#actions.open(id);
    if (now?.state !== 'needs-you' || now.need !== session.need)
      return this.#actions.showAlreadyAnswered(session);
    if (chosen === 'Allow') return this.#actions.answer(session, 'allow');
    if (chosen === 'Deny') return this.#actions.answer(session, 'deny');
    if (chosen === 'Land Again') return this.#actions.land(id);
    if (chosen === 'Send Prompt…') return this.#actions.prompt(id);
    this.#actions.answer(session, undefined);
  }

  dispose(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    for (const each of this.#disposables) each.dispose();
  }
}
