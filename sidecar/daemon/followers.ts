import type { NotificationKind } from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import type { Client } from './client.ts';

/** The clients that are told of everything that happens. */
export class Followers {
  readonly #clients = new Set<Client>();

  /** Until it leaves. */
  add(client: Client): void {
    this.#clients.add(client);
    client.gone.addEventListener('abort', () => this.#clients.delete(client), { once: true });
  }

  tell<P extends z.ZodMiniType>(kind: NotificationKind<P>, params: z.input<P>): void {
    for (const client of this.#clients) client.notify(kind, params);
  }
}
