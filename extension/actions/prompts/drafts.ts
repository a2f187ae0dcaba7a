import * as vscode from 'vscode';
import { failureOf, isCancelled } from '../../connection/failure.ts';

/** A text that is written for an agent. What was chosen for it goes along. Plain data. */
export interface Draft {
  text: string;
}

/** A draft in the hands of one flow, until another takes it up and this one is cancelled. */
export interface Writing<Kept> {
  draft: Kept;
  /** To be called with what the text is by now. */
  type(text: string): void;
  token: vscode.CancellationToken;
}

/** How long a text that is being typed is kept in memory alone, in milliseconds: a reload tells nobody before. */
const KEPT_WITHIN_MS = 200;
/** So many texts outlive a reload, those that were taken up last: nobody comes back to what an archived session asked. */
const MAX_KEPT = 50;

/**
 * What was written in this window and not sent, by the place that it is for: nobody writes a text twice. What is being
 * sent is taken out before, so that what is written next for that place is another text. Texts are there again after a
 * reload, without what was chosen for them.
 */
export class Drafts<Kept extends Draft = Draft> {
  readonly #state: Pick<vscode.Memento, 'get' | 'update'>;
  readonly #key: string;
  readonly #kept = new Map<string, Kept>();
  /** Texts from before the window was loaded that were not taken up since. */
  readonly #earlier: Map<string, string>;
  #keeping: NodeJS.Timeout | undefined;
  readonly #writers = new Map<string, vscode.CancellationTokenSource>();

  /** @param key under which the texts are in `state` */
  constructor(state: Pick<vscode.Memento, 'get' | 'update'>, key: string) {
    this.#state = state;
    this.#key = key;
    this.#earlier = new Map(Object.entries(state.get<Record<string, string>>(key, {})));
  }

  /** Takes up what was kept for `place`, or begins with `fresh`; who has it in hand is cancelled, and keeps a copy. */
  write(place: string, fresh: Kept): Writing<Kept> {
    this.#writers.get(place)?.cancel();
    const writer = new vscode.CancellationTokenSource();
    this.#writers.set(place, writer);
    const text = this.#earlier.get(place) ?? fresh.text;
    const draft = structuredClone(this.#kept.get(place) ?? { ...fresh, text });
    this.#earlier.delete(place);
    this.#kept.delete(place);
    this.#kept.set(place, draft);
    const type = (text: string) => {
      draft.text = text;
      this.#keep();
    };
    return { draft, type, token: writer.token };
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
    this.#keep();
  }

  /** Removes what was kept for the places that begin so. */
  forget(beginning: string): void {
    for (const texts of [this.#kept, this.#earlier]) {
      for (const place of texts.keys()) if (place.startsWith(beginning)) texts.delete(place);
    }
    this.#keep();
  }

  #keep(): void {
    this.#keeping ??= setTimeout(() => {
      this.#keeping = undefined;
      const texts = [...this.#earlier, ...[...this.#kept].map(([place, { text }]) => [place, text] as const)];
      const written = texts.filter(([, text]) => text.trim() !== '');
      void this.#state.update(this.#key, Object.fromEntries(written.slice(-MAX_KEPT)));
    }, KEPT_WITHIN_MS);
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
      if (isCancelled(error) && !this.#kept.has(place)) {
        this.#kept.set(place, draft);
        this.#keep();
      }
      // The last is said of a prompt that the agent has: it was too late to take it back.
      else if (failureOf(error).code !== 'prompt.sent') await rescue();
      throw error;
    }
  }
}
