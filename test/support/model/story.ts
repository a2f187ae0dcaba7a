import type { Conversation } from './conversation.ts';

/** Tokens of one reply as the Messages API bills them. Absent ones are 0, output is counted from the text. */
export interface Usage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite5m?: number;
  cacheWrite1h?: number;
  webSearches?: number;
  speed?: 'standard' | 'fast';
  serviceTier?: string;
}

/** What a tool is called with: fixed, or made from the conversation (its `cwd` is the session's worktree). */
export type ToolInput = Record<string, unknown> | ((conversation: Conversation) => Record<string, unknown>);

export type Block = { kind: 'text'; text: string } | { kind: 'tool'; name: string; input: ToolInput };

/** How a reply ends: whole, never (the stream stays open), with an error event, or with a closed socket. */
export type Ending = 'whole' | 'hangs' | 'error-event' | 'drops';

export interface Failure {
  status: number;
  /** `error.type` of the API, such as `overloaded_error`. */
  type: string;
  message: string;
}

export interface Reply {
  /** Answered instead of the reply, one an attempt, before it. */
  failures: Failure[];
  /** Answered instead of the reply whenever it is asked for. */
  alwaysFails: Failure | undefined;
  blocks: Block[];
  usage: Usage;
  /** Waits this long before the first byte, in ms. */
  delayMs: number;
  /** Waits this long between two blocks and two pieces of text, in ms. */
  paceMs: number;
  waitsFor: (() => Promise<unknown>) | undefined;
  ending: Ending;
  /** The model that answers, when it is another than the one asked. */
  model: string | undefined;
}

export interface Matcher {
  matches(conversation: Conversation): boolean;
  description: string;
}

/** The last prompt contains `text`, or fits the expression. */
export function prompt(text: string | RegExp): Matcher {
  return {
    matches: (conversation) => fits(conversation.prompts.at(-1), text),
    description: `prompt ${text}`,
  };
}

/** The last prompt is `text`, letter for letter. */
export function exactPrompt(text: string): Matcher {
  return {
    matches: (conversation) => conversation.prompts.at(-1) === text,
    description: `exactly the prompt ${text.slice(0, 80)}`,
  };
}

/** The first prompt of the conversation contains `text`, or fits the expression; any turn of it matches. */
export function firstPrompt(text: string | RegExp): Matcher {
  return {
    matches: (conversation) => fits(conversation.prompts[0], text),
    description: `first prompt ${text}`,
  };
}

/** Whatever a person may ask; not the requests that the CLI makes for itself, which have no tools. */
export function anyPrompt(): Matcher {
  return {
    matches: ({ prompts, tools }) => prompts.length > 0 && tools.length > 0,
    description: 'any prompt',
  };
}

export function bothOf(one: Matcher, other: Matcher): Matcher {
  return {
    matches: (conversation) => one.matches(conversation) && other.matches(conversation),
    description: `${one.description} and ${other.description}`,
  };
}

function fits(value: string | undefined, text: string | RegExp): boolean {
  if (value === undefined) return false;
  return typeof text === 'string' ? value.includes(text) : text.test(value);
}

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

export function failure(status: number, message?: string): Failure {
  const type = ERROR_TYPES[status] ?? 'api_error';
  return { status, type, message: message ?? `scripted ${type}` };
}

/**
 * The answers to one prompt, told in order: what the model says and calls, then what it says when the tool
 * results are back. Every method returns the story, so that a scenario reads as a sentence:
 *
 *     model.when(prompt('add a greeting'))
 *       .says('I write it.').callsTool('Write', { file_path, content })
 *       .thenSays('Done.').usage({ input: 100, output: 20 });
 */
export class Story {
  readonly matcher: Matcher;
  readonly replies: Reply[] = [];
  /** Told once: a second conversation with the same prompt goes to the next story that fits. */
  single = false;
  /** Conversations (by session and prompt number) that this story has answered. */
  readonly told = new Set<string>();

  constructor(matcher: Matcher) {
    this.matcher = matcher;
  }

  /** Adds text to the reply. */
  says(text: string): this {
    this.current.blocks.push({ kind: 'text', text });
    return this;
  }

  /** Adds a tool call to the reply. */
  callsTool(name: string, input: ToolInput): this {
    this.current.blocks.push({ kind: 'tool', name, input });
    return this;
  }

  /** Begins the next reply, asked for when the tool results are back. */
  andThen(): this {
    this.replies.push(emptyReply());
    return this;
  }

  thenSays(text: string): this {
    return this.andThen().says(text);
  }

  thenCallsTool(name: string, input: ToolInput): this {
    return this.andThen().callsTool(name, input);
  }

  usage(usage: Usage): this {
    this.current.usage = { ...this.current.usage, ...usage };
    return this;
  }

  /** The reply comes from another model than the one that was asked. */
  as(model: string): this {
    this.current.model = model;
    return this;
  }

  /** Waits before the first byte of the reply, in ms. */
  after(ms: number): this {
    this.current.delayMs = ms;
    return this;
  }

  /** Waits between the pieces of the reply, in ms. */
  slowly(ms: number): this {
    this.current.paceMs = ms;
    return this;
  }

  /** The reply begins when the promise made here is kept. */
  waitsFor(gate: () => Promise<unknown>): this {
    this.current.waitsFor = gate;
    return this;
  }

  /** The next `times` attempts at the reply fail, then it comes. */
  failsWith(status: number, options: { times?: number; message?: string } = {}): this {
    for (let i = 0; i < (options.times ?? 1); i += 1) {
      this.current.failures.push(failure(status, options.message));
    }
    return this;
  }

  /** Every attempt at the reply fails. */
  alwaysFailsWith(status: number, message?: string): this {
    this.current.alwaysFails = failure(status, message);
    return this;
  }

  /** After what was said so far the stream stays open until the client leaves. */
  hangs(): this {
    this.current.ending = 'hangs';
    return this;
  }

  /** After what was said so far the API reports itself overloaded, inside the stream. */
  overloadsMidStream(): this {
    this.current.ending = 'error-event';
    return this;
  }

  /** After what was said so far the connection closes. */
  dropsConnection(): this {
    this.current.ending = 'drops';
    return this;
  }

  once(): this {
    this.single = true;
    return this;
  }

  private get current(): Reply {
    const last = this.replies.at(-1);
    if (last !== undefined) return last;
    const first = emptyReply();
    this.replies.push(first);
    return first;
  }
}

function emptyReply(): Reply {
  return {
    failures: [],
    alwaysFails: undefined,
    blocks: [],
    usage: {},
    delayMs: 0,
    paceMs: 0,
    waitsFor: undefined,
    ending: 'whole',
    model: undefined,
  };
}
