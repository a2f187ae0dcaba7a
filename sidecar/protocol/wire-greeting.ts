import type { Socket } from 'node:net';
import { FairleadError } from './errors.ts';
import { FrameSocket } from './frame-socket.ts';
import {
  errorOfFault,
  FrameType,
  type HostHello,
  HostHelloSchema,
  parseJson,
  WIRE_VERSIONS,
  WireFaultSchema,
} from './ptywire.ts';

/** How long a ptyhost may take to answer a hello, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Exchanges hellos on a connected socket.
 * @throws FairleadError `client.too-new`, `client.too-old`, `ptyhost.lost`, `ptyhost.protocol`
 */
export function greet(socket: Socket, client: string): Promise<{ frames: FrameSocket; host: HostHello }> {
  const frames = new FrameSocket(socket);
  return new Promise((resolve, reject) => {
    const fail = (error: FairleadError) => {
      clearTimeout(timer);
      frames.destroy();
      reject(error);
    };
    const timer = setTimeout(
      () =>
        fail(
          new FairleadError('ptyhost.lost', 'The ptyhost does not answer.', {
            hint: 'Run `fairlead doctor`.',
          }),
        ),
      ANSWER_MS,
    );
    frames.listen(
      ({ type, payload }) => {
        if (type === FrameType.fault) return fail(errorOfFault(parseJson(WireFaultSchema, payload)));
        if (type !== FrameType.hello) return;
        const host = parseJson(HostHelloSchema, payload);
        clearTimeout(timer);
        resolve({ frames, host });
      },
      (reason) => fail(reason ?? new FairleadError('ptyhost.lost', 'The ptyhost closed the connection.')),
    );
    frames.sendJson(FrameType.hello, { versions: [...WIRE_VERSIONS], client });
  });
}
