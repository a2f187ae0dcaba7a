import { ResponseError } from 'vscode-jsonrpc/node';
import { asFairleadError, FairleadError, isErrorCode, WIRE_ERROR_NUMBER } from '../protocol/errors.ts';
import { isLostConnection } from '../protocol/lost-connection.ts';
import * as protocol from '../protocol/protocol.ts';
import * as z from '../protocol/zod.ts';

/** The cause of `daemon.lost` when the connection ended without a word: the sidecar died. */
export const SUDDEN_END = new Error('The connection ended.');

/** Requests that change nothing, so that they can be made again. */
const ONLY_LOOK: readonly { method: string }[] = [
  protocol.Status,
  protocol.Doctor,
  protocol.ListSessions,
  protocol.ShowSession,
  protocol.ShowNeed,
  protocol.UnsentPrompts,
  protocol.Wait,
  protocol.Turns,
  protocol.Diff,
  protocol.LandPreview,
  protocol.ListQueue,
  protocol.CostSummary,
  protocol.FollowEvents,
];

/** `method`: of the request that was under way, of which it is not known whether it was carried out. */
export function suddenEnd(method?: string): FairleadError {
  const repeatable = method === undefined || ONLY_LOOK.some((kind) => kind.method === method);
  return new FairleadError('daemon.lost', 'The sidecar ended while the command ran.', {
    hint: repeatable
      ? 'Run it again.'
      : 'See what has come of it before you run it again: fairlead ls, fairlead queue',
    cause: SUDDEN_END,
  });
}

const WireErrorData = z.looseObject({
  code: z.string(),
  hint: z.optional(z.string()),
  data: z.optional(z.unknown()),
});

/** What the person is told of a request that failed. `method`: as for {@link suddenEnd}. */
export function fromWire(error: unknown, method?: string): FairleadError {
  if (error instanceof z.ZodError) {
    return new FairleadError(
      'client.too-new',
      'The sidecar that runs does not answer as this program expects.',
      {
        hint: 'It is of another build. Let its agents finish, then: fairlead down && fairlead up',
        cause: error,
      },
    );
  }
  if (isLostConnection(error)) return suddenEnd(method);
  if (!(error instanceof ResponseError)) return asFairleadError(error);
  if (error.code === -32800) return new FairleadError('cancelled', 'Cancelled.');
  const wire = error.code === WIRE_ERROR_NUMBER ? WireErrorData.safeParse(error.data) : undefined;
  if (wire?.success !== true) return asFairleadError(error);
  const { code, hint, data } = wire.data;
  return new FairleadError(isErrorCode(code) ? code : 'internal', error.message, {
    ...(hint === undefined ? {} : { hint }),
    ...(data === undefined ? {} : { data }),
  });
}
