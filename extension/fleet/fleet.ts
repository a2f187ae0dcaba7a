import * as vscode from 'vscode';
import { fleetOrder } from '../../sidecar/protocol/fleet-order.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';

/** What became known: of one session, or of so much that everything is to be drawn anew. */
export type FleetChange =
  | { kind: 'all' }
  | { kind: 'session'; session: Session; before: Session | undefined };

/** Of the connection what the fleet is known by. */
export type FleetSource = Pick<Connection, 'request' | 'on' | 'onDidChangeState' | 'onDidPrefetch'>;

/**
 * The sessions as the sidecar last told of them. Asked for at each new connection, then followed; what is archived is
 * left out.
 */
export class Fleet implements vscode.Disposable {
  readonly #connection: FleetSource;
  readonly #changed = new vscode.EventEmitter<FleetChange>();
  readonly onDidChange = this.#changed.event;
  readonly #sessions = new Map<string, Session>();
  readonly #disposables: vscode.Disposable[];
  #ordered: Session[] | undefined;
  #families: Map<string, Session[]> | undefined;
  #loaded = false;
  readonly #known = Promise.withResolvers<void>();

  /** `failed` hears of a fleet that could not be read when the connection came. */
  constructor(connection: FleetSource, failed: (error: unknown) => void) {
    this.#connection = connection;
    this.#disposables = [
      this.#changed,
      connection.onDidChangeState(({ kind }) => {
        if (kind === 'ready') {
          void this.load().catch((error: unknown) => {
            this.#known.resolve();
            failed(error);
          });
        }
        if (kind === 'failed') this.#known.resolve();
      }),
      connection.onDidPrefetch((sessions) => {
        if (!this.#loaded) this.#takeAll(sessions);
      }),
      connection.on('SessionChanged', (session) => this.#take(session)),
    ];
  }

  /** Whether the sidecar has told once what there is. */
  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Resolves when it is known for the first time what there is, or that it cannot be known. */
  get whenKnown(): Promise<void> {
    return this.#known.promise;
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** In the order of what needs the person. */
  get sessions(): readonly Session[] {
    this.#ordered ??= [...this.#sessions.values()].sort(fleetOrder);
    return this.#ordered;
  }

  /** The session on which its family hangs: the first of it, or, once that is archived, the oldest that is there. */
  headOf(session: Session): Session {
    const family = this.#family(session.family);
    return (
      family.find(({ id }) => id === session.family) ??
      family.reduce((oldest, each) => (isOlder(each, oldest) ? each : oldest), session)
    );
  }

  /** The others of the family whose head is the session `id`, in the same order; none for one that is no head. */
  membersOf(id: string): readonly Session[] {
    const session = this.#sessions.get(id);
    if (session === undefined || this.headOf(session).id !== id) return [];
    return this.#family(session.family).filter((each) => each.id !== id);
  }

  #family(family: string): readonly Session[] {
    this.#families ??= Map.groupBy(this.sessions, (session) => session.family);
    return this.#families.get(family) ?? [];
  }

  /** Reads everything anew. @throws ExtensionError as the sidecar answers */
  async load(): Promise<void> {
    // Followed first: what changes while the list travels comes after it.
    const following = this.#connection.request('FollowEvents', { after: Number.MAX_SAFE_INTEGER });
    const [sessions] = await Promise.all([this.#connection.request('ListSessions', {}), following]);
    this.#takeAll(sessions);
  }

  #takeAll(sessions: readonly Session[]): void {
    // What was seen at a first look is not drawn twice.
    const isNews = !this.#loaded || JSON.stringify([...this.#sessions.values()]) !== JSON.stringify(sessions);
    if (isNews) {
      this.#sessions.clear();
      for (const session of sessions) this.#sessions.set(session.id, session);
      this.#loaded = true;
      this.#fire({ kind: 'all' });
    }
    this.#known.resolve();
  }

  #take(session: Session): void {
    const before = this.#sessions.get(session.id);
    if (session.state === 'archived') {
      if (this.#sessions.delete(session.id)) this.#fire({ kind: 'all' });
      return;
    }
    this.#sessions.set(session.id, session);
    this.#fire({ kind: 'session', session, before });
  }

  #fire(change: FleetChange): void {
    this.#ordered = undefined;
    this.#families = undefined;
    this.#changed.fire(change);
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

function isOlder(a: Session, b: Session): boolean {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.attempt === b.attempt ? a.id < b.id : (a.attempt ?? 0) < (b.attempt ?? 0);
}
