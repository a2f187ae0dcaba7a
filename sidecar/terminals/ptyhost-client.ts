import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { FairleadError } from '../protocol/errors.ts';
import type { FrameSocket } from '../protocol/frame-socket.ts';
import { ANSWER_WITHIN_MS, afterSilence, notAnswering } from '../protocol/not-answering.ts';
import {
  errorOfFault,
  type Frame,
  FrameType,
  type HostEvent,
  HostEventSchema,
  type HostHello,
  METHODS,
  type Method,
  type ParamsOf,
  parseJson,
  ResponseSchema,
  type ResultOf,
  WireFaultSchema,
} from '../protocol/ptywire.ts';
import { greet } from '../protocol/wire-greeting.ts';
import * as z from '../protocol/zod.ts';

export interface PtyHostClientEvents {
  /** Only after `subscribe`. Events of a later wire version are left out. */
  event: [event: HostEvent];
  /** The connection ended, whoever ended it. Once; every open request fails with the same error. */
  lost: [reason: FairleadError];
}

const AnyEvent = z.looseObject({ event: z.string() });

interface Pending {
  settle(result: unknown): void;
  fail(error: FairleadError): void;
  /** It was answered, or is not waited for any longer. */
  over(): void;
}

/** A control connection to a ptyhost. Connecting again after `lost` is the caller's decision. */
export class PtyHostClient extends EventEmitter<PtyHostClientEvents> {
  readonly host: HostHello;
  readonly #frames: FrameSocket;
  readonly #answerMs: number;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #lost: FairleadError | undefined;
  /** What the host said was wrong before it ended the connection. */
  #fault: FairleadError | undefined;

  private constructor(frames: FrameSocket, host: HostHello, answerMs: number) {
    super();
    this.#answerMs = answerMs;
    this.#frames = frames;
    this.host = host;
    frames.listen(
      (frame) => this.#onFrame(frame),
      (reason) => this.#onClose(reason),
    );
  }

  /**
   * Says hello on a connected socket, which the client owns from here on.
   * @param name name and version of this program, for the host's log
   * @param answerMs how long the ptyhost may take to answer a hello or a request, in milliseconds
   * @throws FairleadError `client.too-new`, `client.too-old`, `daemon.not-answering`, `ptyhost.lost`, `ptyhost.protocol`
   */
  static async open(socket: Socket, name: string, answerMs = ANSWER_WITHIN_MS): Promise<PtyHostClient> {
    const { frames, host } = await greet(socket, name, answerMs);
    return new PtyHostClient(frames, host, answerMs);
  }

  /**
   * Sends a request; `METHODS` in `protocol/ptywire.ts` says what each does.
   * @throws FairleadError as the host answers; `ptyhost.lost` when the connection ends first, `daemon.not-answering`
   * when no answer comes, which ends the connection: then it is unknown whether the request was carried out
   */
  request<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        settle: (result) => {
          const parsed = METHODS[method].result.safeParse(result);
          if (parsed.success) resolve(parsed.data as ResultOf<M>);
          else
            reject(
              new FairleadError('ptyhost.protocol', `The answer to ${method} has an unexpected shape.`, {
                cause: parsed.error,
              }),
            );
        },
        fail: reject,
        over: afterSilence(this.#answerMs, () => {
          this.#fault = notAnswering('ptyhost', this.host.pid);
          this.#frames.destroy();
        }),
      });
      this.#frames.sendJson(FrameType.request, { id, method, params });
    });
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** Ends the connection. Terminals live on. */
  close(): void {
    this.#frames.end();
  }

  #onFrame({ type, payload }: Frame): void {
    if (type === FrameType.response) {
      const { id, result, error } = parseJson(ResponseSchema, payload);
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.over();
      if (error === undefined) pending?.settle(result);
      else pending?.fail(errorOfFault(error));
    } else if (type === FrameType.event) {
      const known = HostEventSchema.safeParse(parseJson(AnyEvent, payload));
      if (known.success) this.emit('event', known.data);
    } else if (type === FrameType.fault) {
      this.#fault = errorOfFault(parseJson(WireFaultSchema, payload));
    }
  }

  #onClose(reason: FairleadError | undefined): void {
    this.#lost =
      reason ??
      this.#fault ??
      new FairleadError('ptyhost.lost', 'The connection to the ptyhost ended.', {
        hint: 'It is started again with the next session; sessions that ran in it can be resumed.',
      });
    for (const pending of this.#pending.values()) {
      pending.over();
      pending.fail(this.#lost);
    }
    this.#pending.clear();
    this.emit('lost', this.#lost);
  }
}
