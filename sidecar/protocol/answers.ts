import type { Reason, ReasonKind } from './reason.ts';

const YES_OR_NO = ['allow', 'deny'];

/** Needs in which the agent asks something; in all others nothing could be answered. */
const ASKING: readonly ReasonKind[] = ['permission', 'question', 'plan', 'login', 'trust', 'unknown'];

/**
 * What can be chosen as an answer: what the agent offers, or `allow` and `deny` where it asks for a yes. Undefined
 * where it is not known or nothing is asked.
 */
export function answersTo(reason: Reason): string[] | undefined {
  if (reason.options !== undefined) return reason.options;
  return reason.kind === 'permission' || reason.kind === 'plan' || reason.kind === 'trust'
    ? YES_OR_NO
    : undefined;
}

/** Whether a refusal may say why: only to the question about a tool, or to a plan that it wrote, does the agent take a text. */
export function takesWhy(reason: Reason): boolean {
  if (reason.kind === 'plan') return isWritten(reason);
  return reason.kind === 'permission' && reason.tool !== undefined;
}

/** Without a plan the agent asks only whether to leave plan mode. Seen with Claude Code 2.1.332. */
function isWritten({ input, truncated }: Reason): boolean {
  return truncated === true || (typeof input === 'object' && input !== null && 'plan' in input);
}

/** Whether no answer can fit, whatever the terminal comes to show. A dialog without choices is read, and has none. */
export function takesNoAnswer(reason: Reason): boolean {
  return !ASKING.includes(reason.kind) || (reason.dialog === true && reason.options === undefined);
}
