import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sleep } from '../../../sidecar/platform/clock.ts';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import { type Conversation, MessagesBody, readConversation } from './conversation.ts';
import { type Failure, failure, type Matcher, type Reply, Story } from './story.ts';
import { streamReply } from './stream.ts';

/** What a request was taken for: part of a story, one of the CLI's side requests, a token count, or nothing known. */
export type RequestKind = 'story' | 'side' | 'count' | 'unmatched';

export interface RecordedRequest {
  number: number;
  kind: RequestKind;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: MessagesBody | undefined;
  conversation: Conversation | undefined;
  /** Description of the story that answered. */
  story: string | undefined;
  /** HTTP status that was answered; undefined while it waits. */
  status: number | undefined;
  /** The client left before the answer was whole. */
  abandoned: boolean;
}

/**
 * A Messages API on loopback whose answers are told as stories. One server serves any number of sessions at
 * once: a request is routed by the prompt it carries, and by how many replies that prompt has had.
 */
export class ScriptedModel {
  readonly requests: RecordedRequest[] = [];
  private readonly stories: Story[] = [];
  private readonly attempts = new Map<string, number>();
  private readonly watchers = new Set<() => void>();
  private readonly server: Server;
  private readonly run = systemIds.short(6);

  private constructor(server: Server) {
    this.server = server;
  }

  /** Listens on 127.0.0.1; `port` 0 is any free one. */
  static async start(port = 0): Promise<ScriptedModel> {
    const server = createServer();
    const model = new ScriptedModel(server);
    server.on('request', (request, response) => {
      model.answer(request, response).catch((error: unknown) => {
        // A client that leaves ends a stream in the middle; anything else is a defect of the script.
        if (response.destroyed || response.writableEnded) return;
        model.refuse(response, 500, `scripted model: ${String(error)}`);
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return model;
  }

  /** Value for `ANTHROPIC_BASE_URL`. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Begins a story. Of several that fit a request, the one told first answers. */
  when(matcher: Matcher): Story {
    const story = new Story(matcher);
    this.stories.push(story);
    return story;
  }

  /** Requests that a story answered, whose last prompt contains `text`. */
  asked(text: string): RecordedRequest[] {
    return this.requests.filter(
      (request) => request.kind === 'story' && request.conversation?.prompts.at(-1)?.includes(text),
    );
  }

  /** Resolves with the first request, past or to come, for which `wanted` holds. */
  async waitFor(wanted: (request: RecordedRequest) => boolean, timeoutMs = 15_000): Promise<RecordedRequest> {
    const end = new AbortController();
    const late = setTimeout(() => end.abort(), timeoutMs);
    try {
      for (;;) {
        const found = this.requests.find(wanted);
        if (found !== undefined) return found;
        await new Promise<void>((resolve, reject) => {
          this.watchers.add(resolve);
          end.signal.addEventListener(
            'abort',
            () => reject(new Error(`no such request in ${timeoutMs} ms; seen:\n${this.describe()}`)),
            { once: true },
          );
        });
      }
    } finally {
      clearTimeout(late);
    }
  }

  /** Throws when a request came that no story answers. For `afterEach`. */
  assertNothingUnmatched(): void {
    const unmatched = this.requests.filter((request) => request.kind === 'unmatched');
    if (unmatched.length === 0) return;
    throw new Error(`the model was asked what no story answers:\n${this.describe(unmatched)}`);
  }

  /** Forgets stories and requests. */
  reset(): void {
    this.stories.length = 0;
    this.requests.length = 0;
    this.attempts.clear();
  }

  /** Closes, cutting what is still streaming. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = (request.url ?? '/').replace(/\?.*$/, '');
    const record: RecordedRequest = {
      number: this.requests.length + 1,
      kind: 'unmatched',
      method: request.method ?? 'GET',
      path,
      headers: request.headers,
      body: undefined,
      conversation: undefined,
      story: undefined,
      status: undefined,
      abandoned: false,
    };
    response.on('close', () => {
      record.status ??= response.headersSent ? response.statusCode : undefined;
      record.abandoned = !response.writableFinished;
      left.abort(new Error('the client left'));
      this.changed();
    });
    const text = Buffer.concat(chunks).toString('utf8');
    const body =
      path.startsWith('/v1/messages') && text !== '' ? MessagesBody.parse(JSON.parse(text)) : undefined;
    if (body !== undefined) {
      record.body = body;
      const sessionId = request.headers['x-claude-code-session-id'];
      record.conversation = readConversation(body, Array.isArray(sessionId) ? sessionId[0] : sessionId);
    }
    const act = this.decide(record);
    this.requests.push(record);
    this.changed();
    await act(response, left.signal);
  }

  private decide(record: RecordedRequest): (response: ServerResponse, left: AbortSignal) => Promise<void> {
    const { body, conversation } = record;
    if (record.path === '/v1/messages/count_tokens' && body !== undefined) {
      record.kind = 'count';
      const tokens = Math.ceil(JSON.stringify(body.messages).length / 4);
      return async (response) => sendJson(response, 200, { input_tokens: tokens });
    }
    if (record.path !== '/v1/messages' || body === undefined || conversation === undefined) {
      // Reachability probes (HEAD /) and the like: not a question to the model.
      record.kind = 'side';
      return async (response) => sendJson(response, 404, errorBody('not_found_error', record.path));
    }
    const found = this.find(conversation);
    if (typeof found === 'string') {
      if (conversation.tools.length === 0) {
        record.kind = 'side';
        return (response, left) => streamReply(response, SIDE_ANSWER, conversation, this.ids(record), left);
      }
      return async (response) =>
        this.refuse(response, 400, `scripted model: request ${record.number}: ${found}`);
    }
    const { story, reply } = found;
    record.kind = 'story';
    record.story = story.matcher.description;
    const failing = reply.alwaysFails ?? reply.failures[this.attempt(conversation, story)];
    if (failing !== undefined) return async (response) => sendFailure(response, failing);
    return async (response, left) => {
      if (reply.delayMs > 0) await sleep(reply.delayMs, left);
      await reply.waitsFor?.();
      await streamReply(response, reply, conversation, this.ids(record), left);
    };
  }

  /** The reply that is due, or the sentence why there is none. */
  private find(conversation: Conversation): { story: Story; reply: Reply } | string {
    const turn = `${conversation.sessionId}#${conversation.prompts.length}`;
    const prompt = conversation.prompts.at(-1)?.slice(0, 200) ?? '(none)';
    for (const story of this.stories) {
      if (!story.matcher.matches(conversation)) continue;
      if (story.single && story.told.size > 0 && !story.told.has(turn)) continue;
      story.told.add(turn);
      const reply = story.replies[conversation.repliesSincePrompt];
      if (reply !== undefined) return { story, reply };
      return `the story of ${story.matcher.description} has ${story.replies.length} replies, number ${conversation.repliesSincePrompt + 1} was asked for; last prompt: ${prompt}`;
    }
    return `no story answers the prompt: ${prompt}`;
  }

  private attempt(conversation: Conversation, story: Story): number {
    const key = [
      conversation.sessionId,
      conversation.prompts.length,
      conversation.repliesSincePrompt,
      story.matcher.description,
    ].join('#');
    const attempt = this.attempts.get(key) ?? 0;
    this.attempts.set(key, attempt + 1);
    return attempt;
  }

  private ids(record: RecordedRequest) {
    const name = `${this.run}${record.number}`;
    return {
      message: `msg_${name}`,
      request: `req_${name}`,
      tool: (index: number) => `toolu_${name}x${index}`,
    };
  }

  private refuse(response: ServerResponse, status: number, message: string): void {
    sendFailure(response, failure(status, message));
  }

  private changed(): void {
    for (const wake of [...this.watchers]) {
      this.watchers.delete(wake);
      wake();
    }
  }

  private describe(requests: readonly RecordedRequest[] = this.requests): string {
    return requests
      .map((request) => {
        const conversation = request.conversation;
        const told = request.story === undefined ? '' : ` by ${request.story}`;
        return `${request.number}. ${request.kind}${told} ${request.method} ${request.path}, reply ${
          (conversation?.repliesSincePrompt ?? 0) + 1
        } to: ${conversation?.prompts.at(-1)?.slice(0, 200) ?? '-'}`;
      })
      .join('\n');
  }
}

/** Serves title and summary requests, whatever form they want: text that is also the JSON of a title. */
const SIDE_ANSWER: Reply = {
  failures: [],
  alwaysFails: undefined,
  blocks: [{ kind: 'text', text: '{"title":"Scripted work","isNewTopic":false}' }],
  usage: { input: 1, output: 1 },
  delayMs: 0,
  paceMs: 0,
  waitsFor: undefined,
  ending: 'whole',
  model: undefined,
};

function errorBody(type: string, message: string): Record<string, unknown> {
  return { type: 'error', error: { type, message } };
}

function sendFailure(response: ServerResponse, failing: Failure): void {
  sendJson(response, failing.status, errorBody(failing.type, failing.message));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
