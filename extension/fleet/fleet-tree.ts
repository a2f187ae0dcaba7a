import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import { SESSION_SCHEME } from './decorations.ts';
import type { Fleet, FleetChange } from './fleet.ts';
import { PacedRefresh } from './paced-refresh.ts';
import type { RefusedRepository, Repositories } from './repositories.ts';
import { canInterrupt, canLand, isHeldUp } from './session-abilities.ts';
import { descriptionOf, iconOf, spokenOf, tooltipOf } from './session-look.ts';

/** A row: a session, or a repository with its sessions. Compared by `id`. */
export type FleetNode =
  | { kind: 'session'; id: string /** What was asked when the row was last drawn. */; need?: number | null }
  | { kind: 'repository'; id: string; repo: string; isOfWindow: boolean }
  /** Where others have sessions and this window has none: the view has rows, and so no welcome. */
  | { kind: 'invitation'; id: string }
  /** A repository of the window that cannot be used, and why. */
  | { kind: 'refusal'; id: string; refused: RefusedRepository };

/** What the tree is to know of the window's repositories. */
export type WindowRepositories = Pick<Repositories, 'all' | 'isKnown' | 'refused'>;

/** Between two times at which ages are drawn anew, in milliseconds. */
const AGES_MS = 30_000;

/**
 * The fleet as a tree: the sessions of this window's repositories first, those of others folded below. Sessions of
 * one family hang on the first one that is there. A change of one session draws one row, unless the order changes.
 */
export class FleetTree implements vscode.TreeDataProvider<FleetNode>, vscode.Disposable {
  readonly #fleet: Fleet;
  readonly #repositories: WindowRepositories;
  readonly #changed = new vscode.EventEmitter<FleetNode[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #pace = new PacedRefresh<FleetNode>((rows) => this.#redraw(rows));
  readonly #disposables: vscode.Disposable[];
  /** Rows that were handed out, so that a fire names the very object. */
  readonly #nodes = new Map<string, FleetNode>();
  /**
   * Sessions and whether others hung below them when the whole tree was last drawn. Drawn alone meanwhile, a row stays what
   * it is: VS Code folds one that turns into a parent.
   */
  readonly #standsAsParent = new Map<string, boolean>();
  /** What was last drawn, as text: whether a change moves anything. */
  #shape = '';
  /** Whether rows were ever asked for. */
  #isDrawn = false;
  readonly #drawn = Promise.withResolvers<void>();

  constructor(fleet: Fleet, repositories: WindowRepositories) {
    this.#fleet = fleet;
    this.#repositories = repositories;
    const ages = setInterval(() => this.#age(), AGES_MS);
    this.#disposables = [
      this.#changed,
      this.#pace,
      fleet.onDidChange((change) => this.#onChange(change)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.refresh()),
      new vscode.Disposable(() => clearInterval(ages)),
    ];
  }

  /** Resolves when VS Code has rows for the first time. */
  get whenDrawn(): Promise<void> {
    return this.#drawn.promise;
  }

  refresh(): void {
    this.#pace.all();
  }

  /** Row by row: while VS Code draws the whole tree anew, a menu of a row knows no session. */
  #age(): void {
    if (!this.#isDrawn) return;
    for (const { id } of this.#fleet.sessions) this.#pace.row(this.#session(id), { isUrgent: false });
  }

  /** When rows may stand elsewhere: draws anew if one does. */
  refreshIfMoved(): void {
    if (this.#isDrawn && this.#shapeNow() !== this.#shape) this.refresh();
  }

  getChildren(node?: FleetNode): FleetNode[] | Promise<FleetNode[]> {
    if (node === undefined) {
      performance.mark('fairlead.asked');
      // The view shows that it waits; a first answer without rows would have to be followed by another.
      return this.#fleet.isLoaded ? this.#top() : this.#fleet.whenKnown.then(() => this.#top());
    }
    if (node.kind === 'invitation' || node.kind === 'refusal') return [];
    return this.#stand(node.kind === 'repository' ? this.#heads(node.repo) : this.#fleet.membersOf(node.id));
  }

  getParent(node: FleetNode): FleetNode | undefined {
    if (node.kind !== 'session') return undefined;
    const session = this.#fleet.get(node.id);
    if (session === undefined) return undefined;
    const head = this.#fleet.headOf(session);
    if (head.id !== session.id) return this.#session(head.id);
    return this.#isFlat(session.repo) ? undefined : this.#repository(session.repo);
  }

  getTreeItem(node: FleetNode): vscode.TreeItem {
    switch (node.kind) {
      case 'invitation':
        return invitationItem(this.#repositories.all);
      case 'refusal':
        return refusalItem(node);
      case 'repository':
        return this.#repositoryItem(node);
      case 'session':
        return this.#sessionItem(node.id);
    }
  }

  resolveTreeItem(item: vscode.TreeItem, node: FleetNode): vscode.TreeItem {
    const session = node.kind === 'session' ? this.#fleet.get(node.id) : undefined;
    if (session !== undefined) item.tooltip = tooltipOf(session, Date.now());
    return item;
  }

  #onChange(change: FleetChange): void {
    if (!this.#isDrawn) {
      if (change.kind === 'all') performance.mark('fairlead.known');
      return;
    }
    if (change.kind === 'session') {
      const { session, before } = change;
      // What it is matters at once, where it stands a moment later.
      if (before !== undefined) {
        this.#pace.row(this.#session(session.id), { isUrgent: isUrgent(before, session) });
      }
      if (this.#shapeNow() === this.#shape) return;
    }
    this.#pace.all();
  }

  /** One that came, went, or got or lost its members waits for the whole tree. */
  #redraw(rows: readonly FleetNode[] | undefined): void {
    const isSame = ({ kind, id }: FleetNode) =>
      kind !== 'session' ||
      (this.#fleet.get(id) !== undefined && this.#standsAsParent.get(id) === this.#hasMembers(id));
    const same = rows?.filter(isSame);
    if (same?.length !== 0) this.#changed.fire(same);
  }

  #hasMembers(id: string): boolean {
    return this.#fleet.membersOf(id).length > 0;
  }

  #top(): FleetNode[] {
    this.#shape = this.#shapeNow();
    this.#isDrawn = true;
    // The items of the rows are taken in this turn.
    setImmediate(() => {
      performance.mark('fairlead.handed');
      this.#drawn.resolve();
    });
    return this.#roots();
  }

  #roots(): FleetNode[] {
    const { all: own, isKnown, refused } = this.#repositories;
    const repos = [...new Set(this.#fleet.sessions.map(({ repo }) => repo))];
    const flat = repos.filter((repo) => this.#isFlat(repo));
    const ofWindow = repos.filter((repo) => own.includes(repo) && !flat.includes(repo));
    const others = repos.filter((repo) => !own.includes(repo));
    const invites =
      repos.length > 0 &&
      others.length === repos.length &&
      isKnown &&
      (own.length > 0 || refused.length === 0);
    return [
      ...refused.map((each) => this.#refusal(each)),
      ...(invites ? [this.#node('invitation', () => ({ kind: 'invitation', id: 'invitation' }))] : []),
      ...flat.flatMap((repo) => this.#stand(this.#heads(repo))),
      ...ofWindow.map((repo) => this.#repository(repo)),
      ...others.map((repo) => this.#repository(repo)),
    ];
  }

  /** Their rows, in a tree that is drawn as a whole. */
  #stand(sessions: readonly Session[]): FleetNode[] {
    return sessions.map(({ id }) => {
      this.#standsAsParent.set(id, this.#hasMembers(id));
      return this.#session(id);
    });
  }

  /** The only repository of the window needs no row of its own. */
  #isFlat(repo: string): boolean {
    const { all: own } = this.#repositories;
    return own.length === 1 && own[0] === repo;
  }

  /** One session of each family in a repository, where the most urgent of it stands in the order. */
  #heads(repo: string): Session[] {
    const heads = new Map<string, Session>();
    for (const session of this.#fleet.sessions) {
      if (session.repo !== repo) continue;
      if (!heads.has(session.family)) heads.set(session.family, this.#fleet.headOf(session));
    }
    return [...heads.values()];
  }

  #shapeNow(): string {
    return [
      String(this.#repositories.isKnown),
      this.#repositories.all.join('\n'),
      ...this.#repositories.refused.map(({ folder, message }) => `${folder} ${message}`),
      ...this.#fleet.sessions.map(({ id, family, repo }) => `${id} ${family} ${repo}`),
    ].join('\n');
  }

  #session(id: string): FleetNode {
    return this.#node(`session:${id}`, () => ({ kind: 'session', id }));
  }

  #repository(repo: string): FleetNode {
    const isOfWindow = this.#repositories.all.includes(repo);
    return this.#node(`repository:${isOfWindow}:${repo}`, () => ({
      kind: 'repository',
      id: repo,
      repo,
      isOfWindow,
    }));
  }

  #refusal(refused: RefusedRepository): FleetNode {
    const id = `refusal:${refused.folder}:${refused.message}`;
    return this.#node(id, () => ({ kind: 'refusal', id, refused }));
  }

  #node(key: string, make: () => FleetNode): FleetNode {
    const known = this.#nodes.get(key) ?? make();
    this.#nodes.set(key, known);
    return known;
  }

  #repositoryItem({ repo, isOfWindow }: FleetNode & { kind: 'repository' }): vscode.TreeItem {
    const item = new vscode.TreeItem(
      basename(repo),
      isOfWindow ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
    );
    const sessions = this.#fleet.sessions.filter((session) => session.repo === repo);
    const needing = sessions.filter(({ state }) => state === 'needs-you').length;
    item.id = `repository:${isOfWindow}:${repo}`;
    item.iconPath = new vscode.ThemeIcon('repo');
    item.description =
      needing > 0
        ? `${sessions.length} · ${needing} ${needing === 1 ? 'needs' : 'need'} you`
        : `${sessions.length}`;
    item.tooltip = repo;
    item.accessibilityInformation = { label: `${basename(repo)}, ${item.description}` };
    item.contextValue = 'repository';
    return item;
  }

  #sessionItem(id: string): vscode.TreeItem {
    const session = this.#fleet.get(id);
    // It was archived between the asking for rows and the asking for this one.
    if (session === undefined) return new vscode.TreeItem('');
    const hasMembers = this.#standsAsParent.get(id) ?? this.#hasMembers(id);
    const node = this.#session(id);
    if (node.kind === 'session') node.need = session.need;
    const item = new vscode.TreeItem(
      session.title,
      hasMembers ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None,
    );
    const now = Date.now();
    // A row of its own: VS Code keeps one that it has, folded, when it turns into a parent.
    item.id = hasMembers ? `family:${id}` : `session:${id}`;
    item.description = descriptionOf(session, now);
    item.iconPath = iconOf(session);
    item.resourceUri = vscode.Uri.from({ scheme: SESSION_SCHEME, path: `/${id}` });
    item.contextValue = contextOf(session);
    item.accessibilityInformation = { label: spokenOf(session, now) };
    item.command = {
      command: 'fairlead.openTerminal',
      title: 'Open Terminal',
      arguments: [this.#session(id)],
    };
    return item;
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}

/** What there is to do first in a window without a session. */
function invitationItem(own: readonly string[]): vscode.TreeItem {
  const first = !vscode.workspace.isTrusted
    ? {
        label: 'Restricted Mode',
        icon: 'shield',
        description: 'Trust this workspace to start sessions',
        command: { command: 'workbench.trust.manage', title: 'Manage Workspace Trust' },
      }
    : own.length > 0
      ? {
          label: 'No session yet',
          icon: 'add',
          description: `New Session in ${own.map((repo) => basename(repo)).join(', ')}`,
          command: { command: 'fairlead.newSession', title: 'New Session' },
        }
      : {
          label: 'No repository here',
          icon: 'folder-opened',
          description: 'Open Folder…',
          command: { command: 'vscode.openFolder', title: 'Open Folder…' },
        };
  const item = new vscode.TreeItem(first.label);
  item.id = 'invitation';
  item.iconPath = new vscode.ThemeIcon(first.icon);
  item.description = first.description;
  item.command = first.command;
  item.contextValue = 'invitation';
  item.accessibilityInformation = { label: `${first.label}, ${first.description}` };
  return item;
}

function refusalItem({ id, refused }: FleetNode & { kind: 'refusal' }): vscode.TreeItem {
  const { folder, message, hint } = refused;
  const item = new vscode.TreeItem(basename(folder));
  item.id = id;
  item.iconPath = new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));
  // The row begins with the folder.
  const reason = message.replace(` at ${folder}`, '').replace(`${folder} `, '');
  item.description = reason;
  item.tooltip = `${message}\n${hint}`;
  item.command = { command: 'fairlead.doctor', title: 'Doctor' };
  item.contextValue = 'refusal';
  item.accessibilityInformation = { label: `${basename(folder)}, ${reason} ${hint}` };
  return item;
}

/** Whether a row tells something that the person waits for; what it has cost so far is not. */
function isUrgent(before: Session, now: Session): boolean {
  return (
    before.state !== now.state ||
    before.facts.life !== now.facts.life ||
    before.title !== now.title ||
    before.reason?.message !== now.reason?.message
  );
}

/** What menus match with `viewItem =~`. No mark is a word of another, as `\b` has it. */
export function contextOf(session: Session): string {
  const marks = ['session', `is-${session.state}`, `life-${session.facts.life}`];
  if (session.reason !== null) marks.push(`asks-${session.reason.kind}`);
  if (session.queue !== null) marks.push('in-queue');
  if (canInterrupt(session)) marks.push('can-interrupt');
  if (canLand(session)) marks.push('can-land');
  if (isHeldUp(session)) marks.push('held-up');
  return `${marks.join(' ')} `;
}
