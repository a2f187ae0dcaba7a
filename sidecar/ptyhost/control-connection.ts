import { asFairleadError, FairleadError, messageOf } from '../protocol/errors.ts';
import type { FrameSocket } from '../protocol/frame-socket.ts';
import {
  type Frame,
  FrameType,
  faultOfError,
  type HostEvent,
  METHODS,
  type Method,
  type ParsedParamsOf,
  parseJson,
  RequestSchema,
  type ResultOf,
} from '../protocol/ptywire.ts';

type CommandName = Exclude<Method, 'subscribe' | 'ping'>;

/** What the host does for each request. */
export type Commands = {
  [M in CommandName]: (params: ParsedParamsOf<M>) => ResultOf<M> | Promise<ResultOf<M>>;
};

/** Bytes of events and answers that may wait for a client; one that reads nothing is let go. */
const MAX_UNSENT = 64 * 1024 * 1024;

/** A client that commands. Requests are carried out in the order in which they come; answers carry their number. */
export class ControlConnection {
  readonly #socket: FrameSocket;
  readonly #commands: Commands;
  readonly #subscribe: (connection: ControlConnection) => ResultOf<'subscribe'>;

  constructor(
    socket: FrameSocket,
    commands: Commands,
    subscribe: (connection: ControlConnection) => ResultOf<'subscribe'>,
    onClose: (connection: ControlConnection) => void,
  ) {
    this.#socket = socket;
    this.#commands = commands;
    this.#subscribe = subscribe;
    socket.listen(
      (frame) => this.#onFrame(frame),
      () => onClose(this),
    );
  }

  event(event: HostEvent): void {
    if (this.#socket.unsent > MAX_UNSENT) this.#socket.destroy();
    else this.#socket.sendJson(FrameType.event, event);
  }

  /** Lets the frame that follows the hello in. */
  receive(frame: Frame): void {
    this.#onFrame(frame);
  }

  #onFrame({ type, payload }: Frame): void {
    if (type !== FrameType.request) {
      const message = `This ptyhost does not know frame type ${type} of a control connection.`;
      this.#socket.fault(new FairleadError('ptyhost.unsupported', message), String(type));
      return;
    }
    const request = parseJson(RequestSchema, payload);
    const answer = (result: unknown) => this.#socket.sendJson(FrameType.response, { id: request.id, result });
    const refuse = (error: unknown) =>
      this.#socket.sendJson(FrameType.response, {
        id: request.id,
        error: faultOfError(asFairleadError(error), request.method),
      });
    try {
      const result = this.#handle(request.method, request.params ?? {});
      if (result instanceof Promise) result.then(answer, refuse);
      else answer(result);
    } catch (error) {
      refuse(error);
    }
  }

  #handle(name: string, params: unknown): unknown {
    if (!isMethod(name)) {
      throw new FairleadError('ptyhost.unsupported', `This ptyhost does not know the request ${name}.`, {
        hint: 'It is older than this program: `fairlead down --all` and `fairlead up` start a current one.',
      });
    }
    if (name === 'ping') return {};
    if (name === 'subscribe') return this.#subscribe(this);
    return this.#dispatch(name, params);
  }

  #dispatch<M extends CommandName>(name: M, params: unknown): unknown {
    const command: Commands[M] = this.#commands[name];
    return command(parseParams(name, params));
  }
}

function parseParams<M extends Method>(name: M, params: unknown): ParsedParamsOf<M> {
  const parsed = METHODS[name].params.safeParse(params);
  if (parsed.success) return parsed.data as ParsedParamsOf<M>;
  throw new FairleadError(
    'params.invalid',
    `The parameters of ${name} are not valid: ${messageOf(parsed.error)}`,
  );
}

function isMethod(name: string): name is Method {
  return Object.hasOwn(METHODS, name);
}
