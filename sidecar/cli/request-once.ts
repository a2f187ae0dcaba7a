import { BUILD } from '../platform/build.ts';
import { systemIds } from '../platform/ids.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { RequestKind } from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import type { CommandContext } from './context.ts';
import { SUDDEN_END } from './wire-failure.ts';

/** How many sidecars are asked, one after the other. */
const SIDECARS = 4;

/**
 * Makes a request that is carried out once, though sidecars die while they carry it out: each next one is asked again
 * under the same id, and goes on with what it finds. One that is ended on purpose is not followed by another.
 */
export async function requestOnce<P extends z.ZodMiniType, R extends z.ZodMiniType>(
  context: CommandContext,
  kind: RequestKind<P, R>,
  paramsWith: (requestId: string) => z.input<P>,
): Promise<z.output<R>> {
  const params = paramsWith(systemIds.uuid());
  for (let attempt = 1; ; attempt += 1) {
    const sidecar = await context.sidecar();
    try {
      return await sidecar.request(kind, params, context.signal);
    } catch (error) {
      const died = error instanceof FairleadError && error.cause === SUDDEN_END;
      // One of another build may not know of ids, and would carry it out a second time.
      const again = died && sidecar.info.build === BUILD.id && !context.signal.aborted && attempt < SIDECARS;
      if (!again) throw error;
    }
  }
}
