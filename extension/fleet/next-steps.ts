import { isOfLanding } from '../../sidecar/protocol/landing.ts';
import type { Reason, ReasonKind } from '../../sidecar/protocol/reason.ts';

/** What can be done about a need, as a button or a line says it. */
export type NextStep = 'Allow' | 'Deny' | 'Answer…' | 'Land Again' | 'Send Prompt…' | 'Open Terminal';

/** Needs that are answered with allow or deny. */
const YES_OR_NO: readonly ReasonKind[] = ['permission', 'trust'];
const ANSWERED: readonly ReasonKind[] = [...YES_OR_NO, 'question', 'plan'];

/** Whether a need takes an answer at all: others go away by something else. */
export function takesAnswer({ kind, dialog, options }: Reason): boolean {
  return ANSWERED.includes(kind) || (dialog === true && options !== undefined);
}

const COMMAND: Partial<Record<NextStep, string>> = {
  'Land Again': 'fairlead.land',
  'Send Prompt…': 'fairlead.sendPrompt',
  'Open Terminal': 'fairlead.openTerminal',
};

/** The command that does it for a session; undefined for one that gives an answer. */
export function commandOf(step: NextStep): string | undefined {
  return COMMAND[step];
}

/** The first is what mostly helps. `queue`: the entry of its session that has not ended, if any. */
export function nextSteps(reason: Reason, queue: string | null = null): NextStep[] {
  const { kind } = reason;
  if (YES_OR_NO.includes(kind)) return ['Allow', 'Deny', 'Open Terminal'];
  if (takesAnswer(reason)) return ['Answer…', 'Open Terminal'];
  // It is with its agent: landed again, that is asked again, or its resolution is taken as it is.
  if (kind === 'conflict' && queue !== null) return ['Land Again', 'Send Prompt…', 'Open Terminal'];
  // The agent brings the conflict in order; landed as it is, the work would meet it again.
  if (kind === 'conflict') return ['Open Terminal', 'Land Again'];
  if (isOfLanding(kind)) return ['Land Again', 'Open Terminal'];
  if (kind === 'api-error' || kind === 'prompt-undelivered') return ['Send Prompt…', 'Open Terminal'];
  return ['Open Terminal'];
}
