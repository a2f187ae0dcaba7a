import * as z from './zod.ts';

/** What a person is needed for. */
export const ReasonKind = z.enum([
  'permission',
  'question',
  'plan',
  'login',
  'trust',
  'api-error',
  'agent-ended',
  'terminal-lost',
  'hook-failed',
  'conflict',
  'check-failed',
  'landing-stopped',
  'start-failed',
  'worktree-missing',
  'budget',
  'prompt-undelivered',
  'base-refuses-pushes',
  'unknown',
]);
export type ReasonKind = z.infer<typeof ReasonKind>;

/** Why a session is `needs-you`, or what is resolved in one that is `resolving`. */
export const Reason = z.object({
  kind: ReasonKind,
  /** One line for people; control characters stripped. */
  message: z.string(),
  tool: z.optional(z.string()),
  /** Id of the tool call that asks, as the agent has it: the same command asked twice is asked by two calls. */
  call: z.optional(z.string()),
  /** The tool's input, as the agent gave it. Untrusted. */
  input: z.optional(z.unknown()),
  /** Of `input` this is only the beginning: strings and lists are cut. `session/need` answers the whole. */
  truncated: z.optional(z.boolean()),
  /** The words and options are those of a dialog on the agent's screen that no signal told of: its kind is `unknown`. */
  dialog: z.optional(z.boolean()),
  /** What can be answered, where that is known: labels in the agent's order, or `allow` and `deny`. */
  options: z.optional(z.array(z.string())),
  /** Set when more than one is asked at a time, or one takes several options. A line of the answer is for each. */
  questions: z.optional(
    z.array(z.object({ question: z.string(), options: z.array(z.string()), multiSelect: z.boolean() })),
  ),
});
export type Reason = z.infer<typeof Reason>;
