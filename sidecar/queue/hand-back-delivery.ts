import { messageOf } from '../protocol/errors.ts';
import type { QueueContext } from './context.ts';
import type { Look } from './hand-back-look.ts';
import { resolvePrompt } from './hand-back-prompt.ts';
import { readPromptRequest } from './hand-back-request.ts';
import { withHint } from './trouble.ts';

/** Brings prompts on their way to agents. What becomes of one is seen at later looks. */
export class HandBackDelivery {
  readonly #context: QueueContext;
  readonly #signal: AbortSignal;
  readonly #delivered: () => void;
  /** Requests of prompts that this sidecar has brought on their way: one that was stopped by hand stays stopped. */
  readonly #sent = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  /** Why a prompt could not be brought, by its request. */
  readonly #unsent = new Map<string, string>();

  /** @param delivered a prompt is on its way, or could not be brought */
  constructor(context: QueueContext, signal: AbortSignal, delivered: () => void) {
    this.#context = context;
    this.#signal = signal;
    this.#delivered = delivered;
  }

  /** This sidecar has brought it on its way, or tried to. */
  hasSent(request: string): boolean {
    return this.#sent.has(request);
  }

  /** Some prompt is being brought. */
  get isSending(): boolean {
    return this.#sending.size > 0;
  }

  /** Why a prompt could not be brought, as a sentence. */
  failureOf(request: string): string | undefined {
    return this.#unsent.get(request);
  }

  /** Asks the agent to resolve the conflict. */
  async send(look: Look): Promise<void> {
    const { entry, row, session } = look;
    const { sessions, log } = this.#context;
    const text = resolvePrompt(await readPromptRequest(look));
    if (this.#signal.aborted) return;
    this.#sent.add(row.request);
    const sending = sessions
      .send(session.id, text, row.request, this.#signal)
      .catch((error: unknown) => {
        if (this.#signal.aborted) return;
        log.warn('prompt of a hand-back not brought', { entry: entry.id, error: messageOf(error) });
        this.#unsent.set(row.request, withHint(error));
      })
      .finally(() => {
        this.#sending.delete(sending);
        this.#delivered();
      });
    this.#sending.add(sending);
  }

  /** Resolves when none is being brought any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#sending);
  }
}
