import type { ServerResponse } from 'node:http';
import { sleep } from '../../../sidecar/platform/clock.ts';
import type { Conversation } from './conversation.ts';
import type { Reply, Usage } from './story.ts';

/** Names of one reply on the wire. */
export interface ReplyIds {
  message: string;
  request: string;
  tool(index: number): string;
}

const PIECE = 200;

/**
 * Writes a reply as the Messages API streams it (message_start, content blocks, message_delta, message_stop).
 * Source: the streaming section of the Messages API reference. Ends early when the client leaves.
 */
export async function streamReply(
  response: ServerResponse,
  reply: Reply,
  conversation: Conversation,
  ids: ReplyIds,
  left: AbortSignal,
): Promise<void> {
  const send = (type: string, fields: Record<string, unknown>) => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  };
  const usage = wireUsage(reply);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': ids.request });
  send('message_start', {
    message: {
      id: ids.message,
      type: 'message',
      role: 'assistant',
      model: reply.model ?? conversation.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  const pace = () => (reply.paceMs > 0 ? sleep(reply.paceMs, left) : Promise.resolve());
  for (const [index, block] of reply.blocks.entries()) {
    await pace();
    if (block.kind === 'text') {
      send('content_block_start', { index, content_block: { type: 'text', text: '' } });
      for (const text of pieces(block.text)) {
        send('content_block_delta', { index, delta: { type: 'text_delta', text } });
        await pace();
      }
    } else {
      const input = typeof block.input === 'function' ? block.input(conversation) : block.input;
      send('content_block_start', {
        index,
        content_block: { type: 'tool_use', id: ids.tool(index), name: block.name, input: {} },
      });
      for (const partial_json of pieces(JSON.stringify(input))) {
        send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } });
      }
    }
    if (reply.ending === 'whole' || index < reply.blocks.length - 1) send('content_block_stop', { index });
  }
  if (reply.ending === 'hangs') {
    await new Promise<void>((resolve) => left.addEventListener('abort', () => resolve(), { once: true }));
    return;
  }
  if (reply.ending === 'drops') {
    // What was said so far is sent first.
    response.write(': dropped\n\n', () => response.destroy());
    return;
  }
  if (reply.ending === 'error-event') {
    send('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
    response.end();
    return;
  }
  const callsTool = reply.blocks.some((block) => block.kind === 'tool');
  send('message_delta', {
    delta: { stop_reason: callsTool ? 'tool_use' : 'end_turn', stop_sequence: null },
    usage,
  });
  send('message_stop', {});
  response.end();
}

function pieces(text: string): string[] {
  const points = Array.from(text);
  const result: string[] = [];
  for (let at = 0; at < points.length; at += PIECE) result.push(points.slice(at, at + PIECE).join(''));
  return result.length > 0 ? result : [''];
}

function wireUsage(reply: Reply): Record<string, unknown> {
  const usage: Usage = reply.usage;
  const write5m = usage.cacheWrite5m ?? 0;
  const write1h = usage.cacheWrite1h ?? 0;
  return {
    input_tokens: usage.input ?? 0,
    output_tokens: usage.output ?? countOutput(reply),
    cache_read_input_tokens: usage.cacheRead ?? 0,
    cache_creation_input_tokens: write5m + write1h,
    cache_creation: { ephemeral_5m_input_tokens: write5m, ephemeral_1h_input_tokens: write1h },
    server_tool_use: { web_search_requests: usage.webSearches ?? 0 },
    service_tier: usage.serviceTier ?? 'standard',
    ...(usage.speed === undefined ? {} : { speed: usage.speed }),
  };
}

function countOutput(reply: Reply): number {
  return Math.max(
    1,
    reply.blocks.reduce(
      (sum, block) => sum + (block.kind === 'text' ? Math.ceil(block.text.length / 4) : 30),
      0,
    ),
  );
}
