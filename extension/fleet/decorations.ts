import * as vscode from 'vscode';
import type { Fleet } from './fleet.ts';
import { isNews, labelColorOf } from './session-look.ts';

/** Scheme of the URI that stands for a session's row; nothing is ever opened under it. */
export const SESSION_SCHEME = 'fairlead-session';

/** Tints the title of what needs the person, and marks what has not been looked at. */
export class SessionDecorations implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #fleet: Fleet;
  readonly #changed = new vscode.EventEmitter<vscode.Uri | undefined>();
  readonly onDidChangeFileDecorations = this.#changed.event;
  readonly #disposables: vscode.Disposable[];

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#disposables = [
      this.#changed,
      fleet.onDidChange((change) => {
        if (change.kind === 'all') return this.#changed.fire(undefined);
        const { session, before } = change;
        if (before?.state !== session.state || before.unread !== session.unread) {
          this.#changed.fire(vscode.Uri.from({ scheme: SESSION_SCHEME, path: `/${session.id}` }));
        }
        return undefined;
      }),
      vscode.window.registerFileDecorationProvider(this),
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== SESSION_SCHEME) return undefined;
    const session = this.#fleet.get(uri.path.slice(1));
    if (session === undefined) return undefined;
    const color = labelColorOf(session);
    const hasNews = isNews(session);
    if (color === undefined && !hasNews) return undefined;
    return {
      ...(color === undefined ? {} : { color }),
      ...(hasNews ? { badge: '●', tooltip: 'Not looked at yet' } : {}),
    };
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
