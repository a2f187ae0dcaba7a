import * as vscode from 'vscode';
import type { SidecarClient } from './client.ts';
import type { NewsOf, NotificationName } from './wire.ts';

type Listeners = { [Name in NotificationName]?: Set<(news: NewsOf<Name>) => void> };

/** Who listens to the sidecar's notifications, whichever connection they come over. */
export class NotificationListeners {
  readonly #listeners: Listeners = {};

  on<Name extends NotificationName>(name: Name, listener: (news: NewsOf<Name>) => void): vscode.Disposable {
    const known: Set<(news: NewsOf<Name>) => void> = this.#listeners[name] ?? new Set();
    // The type of the map ties the name to its listeners; a mapped type cannot be written through a generic key.
    (this.#listeners as Record<string, typeof known>)[name] = known;
    known.add(listener);
    return new vscode.Disposable(() => known.delete(listener));
  }

  /** Passes on what comes over a connection, for as long as that lasts. */
  listenTo(client: SidecarClient): void {
    const pass = <Name extends NotificationName>(name: Name) =>
      client.on(name, (news) => {
        for (const listener of this.#listeners[name] ?? []) listener(news);
      });
    pass('SessionChanged');
    pass('EntryChanged');
    pass('EventHappened');
  }
}
