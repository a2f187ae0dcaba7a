import { z } from 'zod';

/** Tokens of one API request, by kind, as Anthropic bills them. All are counts. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  webSearches: number;
  /** `standard`, `fast`, …; null when the line does not say. */
  speed: string | null;
  serviceTier: string | null;
  inferenceGeo: string | null;
}

/** What every line of a conversation carries. */
interface ConversationRow {
  uuid: string;
  parentUuid: string | null;
  /** The conversation that the line now stands in; a fork rewrites it. */
  sessionId: string | null;
  /** Milliseconds since the epoch; NaN when the line has no time that can be read. */
  at: number;
  cwd: string | null;
  gitBranch: string | null;
  /** Of a subagent. */
  isSidechain: boolean;
  agentId: string | null;
}

/** Something that the person (or Fairlead for them) said. */
export interface PromptRow extends ConversationRow {
  kind: 'prompt';
  text: string;
  promptId: string | null;
  /** Said by the CLI in the person's name: reminders, notices of background tasks, continuations. */
  isMeta: boolean;
}

/** One content block of an answer. Several rows of one request carry the same usage: count a request once. */
export interface ResponseRow extends ConversationRow {
  kind: 'response';
  messageId: string;
  requestId: string | null;
  /** The conversation that paid, when the line was copied from another one. */
  requestSessionId: string | null;
  model: string;
  usage: Usage;
  stopReason: string | null;
  /** Text of the block, null for another kind. */
  text: string | null;
  toolCalls: { id: string; name: string }[];
}

/** The CLI's own line for an API error, in place of an answer. Costs nothing. */
export interface ApiErrorRow extends ConversationRow {
  kind: 'api-error';
  /** Such as `authentication_failed`, `rate_limit`, `server_error`; null when not said. */
  error: string | null;
  text: string;
}

export interface ToolResultRow extends ConversationRow {
  kind: 'tool-result';
  toolUseId: string;
  isError: boolean;
}

/** The person pressed Esc, in an answer or at a permission dialog. */
export interface InterruptRow extends ConversationRow {
  kind: 'interrupt';
  /** At a tool: its dialog was declined, or it was running. */
  duringTool: boolean;
}

/** The CLI's own totals. They accumulate over resumes and are inherited by forks: never add them up. */
export interface CostStateRow {
  kind: 'cost-state';
  sessionId: string | null;
  totalUsd: number;
}

export interface TurnEndRow extends ConversationRow {
  kind: 'turn-end';
  durationMs: number | null;
}

export interface OtherRow {
  kind: 'other';
  type: string;
  sessionId: string | null;
}

export type TranscriptRow =
  | PromptRow
  | ResponseRow
  | ApiErrorRow
  | ToolResultRow
  | InterruptRow
  | CostStateRow
  | TurnEndRow
  | OtherRow;

const text = z.string().nullish().catch(null);
const count = z.number().nonnegative().catch(0).default(0);
const Blocks = z
  .union([z.string(), z.array(z.looseObject({ type: z.string() }))])
  .catch([])
  .default([]);

const RawUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: z
    .looseObject({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })
    .nullish()
    .catch(null),
  server_tool_use: z.looseObject({ web_search_requests: count }).nullish().catch(null),
  service_tier: text,
  speed: text,
  inference_geo: text,
});

const RawLine = z.looseObject({
  type: z.string(),
  subtype: text,
  uuid: text,
  parentUuid: text,
  sessionId: text,
  timestamp: text,
  cwd: text,
  gitBranch: text,
  isSidechain: z.boolean().catch(false).default(false),
  agentId: text,
  isMeta: z.boolean().catch(false).default(false),
  isApiErrorMessage: z.boolean().catch(false).default(false),
  isCompactSummary: z.boolean().catch(false).default(false),
  error: z.unknown().optional(),
  promptId: text,
  requestId: text,
  requestSessionId: text,
  durationMs: z.number().nullish().catch(null),
  content: text,
  totalCostUSD: z.number().nullish().catch(null),
  message: z
    .looseObject({
      id: text,
      model: text,
      stop_reason: text,
      content: Blocks,
      usage: RawUsage.nullish().catch(null),
    })
    .nullish()
    .catch(null),
});
type RawLine = z.infer<typeof RawLine>;

const INTERRUPT = /^\[Request interrupted by user( for tool use)?\]$/;

/**
 * One line of a transcript as a typed row, `undefined` for what is no JSON object with a type. Lines of unknown
 * types are `other`: the format grows with every version of the CLI. Source of the shapes: transcripts that
 * 2.1.197 and 2.1.332 wrote.
 */
export function parseRow(line: string): TranscriptRow | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const parsed = RawLine.safeParse(json);
  if (!parsed.success) return undefined;
  const raw = parsed.data;
  if (raw.type === 'cost-state') {
    return { kind: 'cost-state', sessionId: raw.sessionId ?? null, totalUsd: raw.totalCostUSD ?? 0 };
  }
  const other: OtherRow = { kind: 'other', type: raw.type, sessionId: raw.sessionId ?? null };
  if (typeof raw.uuid !== 'string') return other;
  const base: ConversationRow = {
    uuid: raw.uuid,
    parentUuid: raw.parentUuid ?? null,
    sessionId: raw.sessionId ?? null,
    at: Date.parse(raw.timestamp ?? ''),
    cwd: raw.cwd ?? null,
    gitBranch: raw.gitBranch ?? null,
    isSidechain: raw.isSidechain,
    agentId: raw.agentId ?? null,
  };
  if (raw.type === 'assistant') return assistantRow(raw, base) ?? other;
  if (raw.type === 'user') return userRow(raw, base);
  if (raw.type === 'system' && raw.subtype === 'turn_duration') {
    return { kind: 'turn-end', ...base, durationMs: raw.durationMs ?? null };
  }
  // A command of the CLI that the model is not told of, such as `/model`; others are written as `user`.
  if (raw.type === 'system' && raw.subtype === 'local_command') {
    return { kind: 'prompt', ...base, text: raw.content ?? '', promptId: null, isMeta: true };
  }
  return other;
}

function assistantRow(raw: RawLine, base: ConversationRow): ResponseRow | ApiErrorRow | undefined {
  const message = raw.message;
  if (!message) return undefined;
  const said = textOf(message.content);
  if (raw.isApiErrorMessage || message.model === '<synthetic>') {
    return {
      kind: 'api-error',
      ...base,
      error: typeof raw.error === 'string' ? raw.error : null,
      text: said ?? '',
    };
  }
  if (!message.usage || !message.id) return undefined;
  return {
    kind: 'response',
    ...base,
    messageId: message.id,
    requestId: raw.requestId ?? null,
    requestSessionId: raw.requestSessionId ?? null,
    model: message.model ?? 'unknown',
    usage: usageOf(message.usage),
    stopReason: message.stop_reason ?? null,
    text: said,
    toolCalls: Array.isArray(message.content)
      ? message.content.flatMap((block) =>
          block.type === 'tool_use' && typeof block.id === 'string' && typeof block.name === 'string'
            ? [{ id: block.id, name: block.name }]
            : [],
        )
      : [],
  };
}

function userRow(raw: RawLine, base: ConversationRow): PromptRow | ToolResultRow | InterruptRow {
  const content = raw.message?.content ?? [];
  const result = Array.isArray(content) ? content.find((block) => block.type === 'tool_result') : undefined;
  if (result !== undefined) {
    return {
      kind: 'tool-result',
      ...base,
      toolUseId: typeof result.tool_use_id === 'string' ? result.tool_use_id : '',
      isError: result.is_error === true,
    };
  }
  const said = textOf(content) ?? '';
  const interrupt = INTERRUPT.exec(said.trim());
  if (interrupt !== null) return { kind: 'interrupt', ...base, duringTool: interrupt[1] !== undefined };
  return {
    kind: 'prompt',
    ...base,
    text: said,
    promptId: raw.promptId ?? null,
    isMeta: raw.isMeta || raw.isCompactSummary,
  };
}

/** The text blocks of a message, joined; null when it has none. */
function textOf(content: string | { type: string; [key: string]: unknown }[]): string | null {
  if (typeof content === 'string') return content;
  const texts = content.flatMap((block) =>
    block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  );
  return texts.length === 0 ? null : texts.join('\n');
}

/** When the split by lifetime is missing, all cache writes are five-minute ones (the only kind there was). */
function usageOf(raw: z.infer<typeof RawUsage>): Usage {
  const written = raw.cache_creation_input_tokens;
  const hour = raw.cache_creation?.ephemeral_1h_input_tokens ?? 0;
  const five = raw.cache_creation?.ephemeral_5m_input_tokens ?? Math.max(0, written - hour);
  const split = hour + five;
  return {
    input: raw.input_tokens,
    output: raw.output_tokens,
    cacheRead: raw.cache_read_input_tokens,
    cacheWrite5m: split === 0 ? written : five,
    cacheWrite1h: hour,
    webSearches: raw.server_tool_use?.web_search_requests ?? 0,
    speed: raw.speed || null,
    serviceTier: raw.service_tier || null,
    inferenceGeo: raw.inference_geo || null,
  };
}
