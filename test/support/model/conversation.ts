import * as z from '../../../sidecar/protocol/zod.ts';

const Block = z.looseObject({ type: z.string() });
const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const ToolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.optional(z.union([z.string(), z.array(Block)])),
  is_error: z.optional(z.boolean()),
});
const Message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(Block)]) });

/** What the scripted model reads of a `POST /v1/messages` body; the rest is kept, not interpreted. */
export const MessagesBody = z.looseObject({
  model: z.string(),
  messages: z.array(Message),
  tools: z.optional(z.array(z.looseObject({ name: z.optional(z.string()) }))),
  system: z.optional(z.union([z.string(), z.array(Block)])),
  stream: z.optional(z.boolean()),
});
export type MessagesBody = z.infer<typeof MessagesBody>;

export interface ToolResult {
  toolUseId: string;
  text: string;
  isError: boolean;
}

/** A request, read as a conversation between a person and the model. */
export interface Conversation {
  /** `x-claude-code-session-id`; a side chain has that of its session. */
  sessionId: string | undefined;
  model: string;
  /** Names of the tools on offer; empty for the CLI's side requests (titles, summaries). */
  tools: string[];
  /** The working directory that the CLI names to the model. */
  cwd: string | undefined;
  /** The file to which the CLI has the model write its plan; undefined in other modes. */
  planFile: string | undefined;
  /** What the person wrote, in order, without what the CLI wraps around it. */
  prompts: string[];
  /** Answers of the model since the last prompt: 0 for a turn that begins. */
  repliesSincePrompt: number;
  /** Results of the tools that the last reply called. */
  toolResults: ToolResult[];
}

/** Text that the CLI adds to a user message and that nobody typed. */
const NOT_TYPED = /^\s*(<system-reminder>|\[Request interrupted by user|<local-command-|<command-name>)/;

/** How the CLI hands on what the person sent while the model was at work. */
const SENT_MEANWHILE =
  /^The user sent a new message while you were working:\n([\s\S]*?)\n\nThis is how Claude Code surfaces/;

export function readConversation(body: MessagesBody, sessionId: string | undefined): Conversation {
  const prompts: string[] = [];
  let replies = 0;
  let toolResults: ToolResult[] = [];
  for (const message of body.messages) {
    if (message.role === 'assistant') {
      replies += 1;
      toolResults = [];
    } else if (message.role === 'user') {
      const blocks = blocksOf(message.content);
      for (const block of blocks) {
        const result = ToolResultBlock.safeParse(block);
        if (result.success) toolResults.push(readToolResult(result.data));
      }
      const typed = textsOf(blocks)
        .filter((text) => !NOT_TYPED.test(text))
        .map((text) => SENT_MEANWHILE.exec(text)?.[1] ?? text);
      if (typed.length > 0) {
        // A prompt that failed stands in one message with the next one.
        prompts.push(...typed);
        replies = 0;
        toolResults = [];
      }
    }
  }
  return {
    sessionId,
    model: body.model,
    tools: (body.tools ?? []).flatMap((tool) => (tool.name === undefined ? [] : [tool.name])),
    cwd: workingDirectory(body),
    planFile: planFile(body),
    prompts,
    repliesSincePrompt: replies,
    toolResults,
  };
}

function readToolResult(block: z.infer<typeof ToolResultBlock>): ToolResult {
  return {
    toolUseId: block.tool_use_id,
    text: textsOf(blocksOf(block.content ?? '')).join('\n'),
    isError: block.is_error === true,
  };
}

function blocksOf(content: string | z.infer<typeof Block>[]): z.infer<typeof Block>[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function textsOf(blocks: z.infer<typeof Block>[]): string[] {
  return blocks.flatMap((block) => {
    const text = TextBlock.safeParse(block);
    return text.success ? [text.data.text] : [];
  });
}

function planFile(body: MessagesBody): string | undefined {
  const texts = body.messages.flatMap(({ content }) => textsOf(blocksOf(content)));
  return texts.flatMap((text) => /create your plan at (\S+\.md) using/.exec(text)?.[1] ?? []).at(-1);
}

/** The CLI tells the model its folder in the system prompt or in a system message; the last word holds. */
function workingDirectory(body: MessagesBody): string | undefined {
  const texts = [
    ...textsOf(blocksOf(body.system ?? [])),
    ...body.messages.flatMap((message) =>
      message.role === 'system' ? textsOf(blocksOf(message.content)) : [],
    ),
  ];
  return texts
    .flatMap((text) => [...text.matchAll(/[Ww]orking directory: (.+)$/gm)].map((match) => match[1]?.trim()))
    .at(-1);
}
