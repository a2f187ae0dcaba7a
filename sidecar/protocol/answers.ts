import type { Reason } from './reason.ts';

const YES_OR_NO = ['allow', 'deny'];

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

/** Whether a refusal may say why: only to the question about a tool does the agent take a text. */
export function takesWhy(reason: Reason): boolean {
  return reason.kind === 'permission' && reason.tool !== undefined;
}
