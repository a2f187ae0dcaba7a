import * as vscode from 'vscode';
import { failureOf, isCancelled } from '../../connection/failure.ts';

/** A text that is written for an agent. What was chosen for it goes along. Plain data. */
export interface Draft {
  text: string;
}

/** A draft in the hands of one flow, until another takes it up and this one is cancelled. */
export interface Writing<Kept> {
  draft: Kept;
  token: vscode.CancellationToken;
}

/**
 * What was written in this window and not sent, by the place that it is for: nobody writes a text twice. What is being
 * sent is taken out before, so that what is written next for that place is another text.
 */
export class Drafts<Kept extends Draft = Draft> {
  readonly #kept = new Map<string, Kept>();
  readonly #writers = new Map<string, vscode.CancellationTokenSource>();

  /** Takes up what was kept for `place`, or begins with `fresh`; who has it in hand is cancelled, and keeps a copy. */
  write(place: string, fresh: Kept): Writing<Kept> {
    this.#writers.get(place)?.cancel();
    const writer = new vscode.CancellationTokenSource();
    this.#writers.set(place, writer);
    const draft = structuredClone(this.#kept.get(place) ?? fresh);
    this.#kept.set(place, draft);
    return { draft, token: writer.token };
  }

  /** For when `draft` is not written on for now. One without a text is no draft. */
  leave(place: string, draft: Kept): void {
    if (draft.text.trim() === '') this.take(place, draft);
  }

  /** Removes `draft`, unless another one is there. */
  take(place: string, draft: Kept): void {
    if (this.#kept.get(place) !== draft) return;
    this.#kept.delete(place);
    this.#writers.delete(place);
  }

  /** Removes what was kept for the places that begin so. */
  forget(beginning: string): void {
    for (const place of this.#kept.keys()) if (place.startsWith(beginning)) this.#kept.delete(place);
  }

  /**
   * Sends `draft`, which is taken out. When the person cancels it is there again; when it fails, or another one is there by
   * then, it is handed to `rescue`.
   * @throws whatever `send` throws
   */
  async send<T>(
    place: string,
    draft: Kept,
    { send, rescue }: { send(): Promise<T>; rescue(): Promise<void> },
  ): Promise<T> {
    this.take(place, draft);
    try {
      return await send();
    } catch (error) {
      if (isCancelled(error) && !this.#kept.has(place)) this.#kept.set(place, draft);
      // The last is said of a prompt that the agent has: it was too late to take it back.
      else if (failureOf(error).code !== 'prompt.sent') await rescue();
      throw error;
    }
  }
}
