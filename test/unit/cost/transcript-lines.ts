/** What a row of an answer says; everything else is as Claude Code 2.1.332 writes it. */
export interface AnswerLine {
  message: string;
  request?: string;
  session: string;
  /** `requestSessionId`: who paid, in a line that was copied. */
  paidBy?: string;
  sideChain?: boolean;
  at?: number;
  cwd?: string;
  branch?: string;
  model?: string;
  input?: number;
  output?: number;
  write5m?: number;
  write1h?: number;
  read?: number;
  searches?: number;
  speed?: string;
  geo?: string;
}

let rows = 0;

/** One line of a transcript, with its newline. */
export function answer(line: AnswerLine): string {
  rows += 1;
  return `${JSON.stringify({
    parentUuid: null,
    isSidechain: line.sideChain ?? false,
    message: {
      id: line.message,
      type: 'message',
      role: 'assistant',
      model: line.model ?? 'claude-opus-5-5',
      content: [{ type: 'text', text: 'Größe: "usage":{ 1 }' }],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: line.input ?? 0,
        cache_creation_input_tokens: (line.write5m ?? 0) + (line.write1h ?? 0),
        cache_read_input_tokens: line.read ?? 0,
        output_tokens: line.output ?? 1,
        server_tool_use: { web_search_requests: line.searches ?? 0 },
        cache_creation: {
          ephemeral_1h_input_tokens: line.write1h ?? 0,
          ephemeral_5m_input_tokens: line.write5m ?? 0,
        },
        inference_geo: line.geo ?? '',
        speed: line.speed ?? 'standard',
      },
    },
    ...(line.request === undefined ? {} : { requestId: line.request }),
    ...(line.paidBy === undefined ? {} : { requestSessionId: line.paidBy }),
    type: 'assistant',
    uuid: `uuid-${rows}`,
    timestamp: new Date(line.at ?? Date.UTC(2026, 10, 1)).toISOString(),
    cwd: line.cwd ?? '/w/a',
    sessionId: line.session,
    version: '2.1.332',
    gitBranch: line.branch ?? 'fairlead/a',
  })}\n`;
}

/** Lines that cost nothing, of which transcripts are full. */
export const OTHER_LINES = [
  `${JSON.stringify({ type: 'queue-operation', operation: 'enqueue', sessionId: 'a' })}\n`,
  `${JSON.stringify({ type: 'user', uuid: 'u', message: { role: 'user', content: '"output_tokens" "usage":{' } })}\n`,
  `${JSON.stringify({ type: 'cost-state', sessionId: 'a', totalCostUSD: 12.5, modelUsage: {} })}\n`,
  `${JSON.stringify({
    type: 'assistant',
    uuid: 'e',
    isApiErrorMessage: true,
    timestamp: '2026-11-01T00:00:00.000Z',
    sessionId: 'a',
    message: { id: 'x', model: '<synthetic>', content: [], usage: { input_tokens: 0, output_tokens: 0 } },
  })}\n`,
];
