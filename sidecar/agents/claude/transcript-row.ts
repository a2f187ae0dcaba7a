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

/**
 * A JSON object of unknown shape. Read by hand with the functions below rather than by a schema: a history has
 * hundreds of thousands of lines, and a schema takes twice as long as parsing them.
 */
type Json = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Json | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : undefined;
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function countOf(value: unknown): number {
  return Math.max(0, numberOf(value) ?? 0);
}

const INTERRUPT = /^\[Request interrupted by user( for tool use)?\]$/;

/**
 * One line of a transcript as a typed row, `undefined` for what is no JSON object with a type. Lines of unknown
 * types are `other`: the format grows with every version of the CLI. Source of the shapes: transcripts that
 * 2.1.197 and 2.1.332 wrote.
 */
export function parseRow(line: string): TranscriptRow | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  const json = objectOf(parsed);
  const type = stringOf(json?.type);
  if (json === undefined || type === null) return undefined;
  const sessionId = stringOf(json.sessionId);
  if (type === 'cost-state')
    return { kind: 'cost-state', sessionId, totalUsd: numberOf(json.totalCostUSD) ?? 0 };
  const other: OtherRow = { kind: 'other', type, sessionId };
  const uuid = stringOf(json.uuid);
  if (uuid === null) return other;
  const base: ConversationRow = {
    uuid,
    parentUuid: stringOf(json.parentUuid),
    sessionId,
    at: Date.parse(stringOf(json.timestamp) ?? ''),
    cwd: stringOf(json.cwd),
    gitBranch: stringOf(json.gitBranch),
    isSidechain: json.isSidechain === true,
    agentId: stringOf(json.agentId),
  };
  if (type === 'assistant') return assistantRow(json, base) ?? other;
  if (type === 'user') return userRow(json, base);
  if (type === 'system' && json.subtype === 'turn_duration') {
    return { kind: 'turn-end', ...base, durationMs: numberOf(json.durationMs) };
  }
  // A command of the CLI that the model is not told of, such as `/context`; others are written as `user`.
  if (type === 'system' && json.subtype === 'local_command') {
    return { kind: 'prompt', ...base, text: stringOf(json.content) ?? '', promptId: null, isMeta: true };
  }
  return other;
}

function assistantRow(json: Json, base: ConversationRow): ResponseRow | ApiErrorRow | undefined {
  const message = objectOf(json.message);
  if (message === undefined) return undefined;
  const blocks = blocksOf(message.content);
  const text = textOf(blocks);
  const model = stringOf(message.model);
  if (json.isApiErrorMessage === true || model === '<synthetic>') {
    return { kind: 'api-error', ...base, error: stringOf(json.error), text: text ?? '' };
  }
  const usage = objectOf(message.usage);
  const messageId = stringOf(message.id);
  if (usage === undefined || messageId === null) return undefined;
  return {
    kind: 'response',
    ...base,
    messageId,
    requestId: stringOf(json.requestId),
    requestSessionId: stringOf(json.requestSessionId),
    model: model ?? 'unknown',
    usage: usageOf(usage),
    stopReason: stringOf(message.stop_reason),
    text,
    toolCalls: blocks.flatMap((block) => {
      const id = stringOf(block.id);
      const name = stringOf(block.name);
      return block.type === 'tool_use' && id !== null && name !== null ? [{ id, name }] : [];
    }),
  };
}

function userRow(json: Json, base: ConversationRow): PromptRow | ToolResultRow | InterruptRow {
  const blocks = blocksOf(objectOf(json.message)?.content);
  const result = blocks.find((block) => block.type === 'tool_result');
  if (result !== undefined) {
    return {
      kind: 'tool-result',
      ...base,
      toolUseId: stringOf(result.tool_use_id) ?? '',
      isError: result.is_error === true,
    };
  }
  const text = textOf(blocks) ?? '';
  const interrupt = INTERRUPT.exec(text.trim());
  if (interrupt !== null) return { kind: 'interrupt', ...base, duringTool: interrupt[1] !== undefined };
  return {
    kind: 'prompt',
    ...base,
    text,
    promptId: stringOf(json.promptId),
    isMeta: json.isMeta === true || json.isCompactSummary === true,
  };
}

/** The content of a message, which may be one text. */
function blocksOf(content: unknown): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.map(objectOf).filter((block) => block !== undefined) : [];
}

/** The text blocks of a message, joined; null when it has none. */
function textOf(blocks: readonly Json[]): string | null {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? (stringOf(block.text) ?? []) : []));
  return texts.length === 0 ? null : texts.join('\n');
}

/** When the split by lifetime is missing, all cache writes are five-minute ones (the only kind there was). */
function usageOf(json: Json): Usage {
  const written = countOf(json.cache_creation_input_tokens);
  const split = objectOf(json.cache_creation);
  const cacheWrite1h = countOf(split?.ephemeral_1h_input_tokens);
  const cacheWrite5m =
    split?.ephemeral_5m_input_tokens === undefined
      ? Math.max(0, written - cacheWrite1h)
      : countOf(split.ephemeral_5m_input_tokens);
  return {
    input: countOf(json.input_tokens),
    output: countOf(json.output_tokens),
    cacheRead: countOf(json.cache_read_input_tokens),
    cacheWrite5m: cacheWrite1h + cacheWrite5m === 0 ? written : cacheWrite5m,
    cacheWrite1h,
    webSearches: countOf(objectOf(json.server_tool_use)?.web_search_requests),
    speed: stringOf(json.speed) || null,
    serviceTier: stringOf(json.service_tier) || null,
    inferenceGeo: stringOf(json.inference_geo) || null,
  };
}
