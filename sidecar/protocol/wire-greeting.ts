import type { Socket } from 'node:net';
import { FairleadError } from './errors.ts';
import { FrameSocket } from './frame-socket.ts';
import { ANSWER_WITHIN_MS, afterSilence, notAnswering } from './not-answering.ts';
import {
  errorOfFault,
  FrameType,
  type HostHello,
  HostHelloSchema,
  parseJson,
  WIRE_VERSIONS,
  WireFaultSchema,
} from './ptywire.ts';

/**
 * Exchanges hellos on a connected socket.
 * @param answerMs how long the ptyhost may take, in milliseconds
 * @throws FairleadError `client.too-new`, `client.too-old`, `daemon.not-answering`, `ptyhost.lost`, `ptyhost.protocol`
 */
export function greet(
  socket: Socket,
  client: string,
  answerMs = ANSWER_WITHIN_MS,
): Promise<{ frames: FrameSocket; host: HostHello }> {
  const frames = new FrameSocket(socket);
  return new Promise((resolve, reject) => {
    const fail = (error: FairleadError) => {
      answered();
      frames.destroy();
      reject(error);
    };
    const answered = afterSilence(answerMs, () => fail(notAnswering('ptyhost', undefined)));
    frames.listen(
      ({ type, payload }) => {
        if (type === FrameType.fault) return fail(errorOfFault(parseJson(WireFaultSchema, payload)));
        if (type !== FrameType.hello) return;
        const host = parseJson(HostHelloSchema, payload);
        answered();
        resolve({ frames, host });
      },
      (reason) => fail(reason ?? new FairleadError('ptyhost.lost', 'The ptyhost closed the connection.')),
    );
    frames.sendJson(FrameType.hello, { versions: [...WIRE_VERSIONS], client });
  });
}
