import { Progress, ProgressToken } from '../protocol/protocol.ts';
import * as z from '../protocol/zod.ts';
import { type Report, UNHEARD } from '../sessions/progress.ts';
import type { Client } from './client.ts';

const Requested = z.looseObject({ workDoneToken: ProgressToken });

/** Where a request reports to: its client, when it asked to hear, until `end`. */
export function progressOf(params: unknown, client: Client): { report: Report; end(): void } {
  const requested = Requested.safeParse(params);
  if (!requested.success) return { report: UNHEARD, end: () => {} };
  const token = requested.data.workDoneToken;
  let isOpen = true;
  let reached = 0;
  return {
    report(message, percentage) {
      if (!isOpen) return;
      if (percentage !== undefined) reached = Math.max(reached, percentage);
      client.notify(Progress, {
        token,
        value: { kind: 'report', message, ...(percentage === undefined ? {} : { percentage: reached }) },
      });
    },
    end() {
      isOpen = false;
    },
  };
}
