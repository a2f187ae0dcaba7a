import * as z from '../protocol/zod.ts';

/** Where the state of an agent can be read from, best first. `process` always is. */
export const AgentSignal = z.enum([
  'hooks',
  'program-status',
  'registry',
  'transcript',
  'title',
  'notification',
  'bell',
  'quiet',
]);
export type AgentSignal = z.infer<typeof AgentSignal>;

/**
 * Arguments of a command. A group is left out as a whole when a `{name}` in it has no value, so that
 * `['--model', '{model}']` stands for an option that may be absent.
 */
export const ArgumentGroups = z.array(z.array(z.string()));
export type ArgumentGroups = z.infer<typeof ArgumentGroups>;

/** An agent that runs in a terminal: data, so that another one needs no code. */
export const AgentDefinition = z.object({
  id: z.string().check(z.regex(/^[a-z][a-z0-9-]*$/)),
  name: z.string(),
  /** Looked up on the session's PATH. */
  command: z.string().check(z.minLength(1)),
  /** Placeholders: `session` (a UUID that we choose), `settings`, `mode`, `model`, `prompt`. */
  start: ArgumentGroups,
  /** The same, to go on with the conversation `session`. */
  resume: ArgumentGroups,
  /** Whether the first prompt can be an argument; else it is typed when the agent is ready. */
  promptArgument: z.boolean(),
  signals: z.array(AgentSignal),
  /** Variables that the agent needs. */
  environment: z.record(z.string(), z.string()),
});
export type AgentDefinition = z.infer<typeof AgentDefinition>;

/** Pure: `groups` with the placeholders filled in. */
export function fillArguments(
  groups: ArgumentGroups,
  values: Readonly<Record<string, string | undefined>>,
): string[] {
  return groups.flatMap((group) => {
    const words: string[] = [];
    for (const word of group) {
      let missing = false;
      const filled = word.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = values[name];
        missing ||= value === undefined;
        return value ?? '';
      });
      if (missing) return [];
      words.push(filled);
    }
    return words;
  });
}
