import type { ResponseRow } from '../agents/claude/transcript-row.ts';
import type { Usage } from './prices.ts';

/**
 * One request to the model as the transcripts tell it. The same request stands in several rows (one a content
 * block) and several files (resumes, forks, side chains); {@link joined} makes one of them, in any order.
 */
export interface Request extends Usage {
  /** `message.id` of the response. */
  message: string;
  /** Id of the request, empty where the transcript has none: then `message` alone tells requests apart. */
  request: string;
  /** The agent session that paid. */
  payer: string;
  /** The row was taken over from another conversation: its folder and branch are those of the copy. */
  copied: boolean;
  /** Milliseconds since the epoch at which the transcript came to be: the older one had the request first. */
  born: number;
  sideChain: boolean;
  cwd: string;
  branch: string;
}

/**
 * The request that a row of an answer tells of, undefined when the row cannot be charged to anybody: no
 * conversation, no time, or counts that are no counts.
 */
export function requestOf(row: ResponseRow, born: number): Request | undefined {
  const { usage, sessionId } = row;
  const payer = row.requestSessionId ?? sessionId;
  const counts = [
    usage.input,
    usage.output,
    usage.cacheWrite5m,
    usage.cacheWrite1h,
    usage.cacheRead,
    usage.webSearches,
  ];
  if (payer === null || !Number.isSafeInteger(row.at)) return undefined;
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return undefined;
  return {
    message: row.messageId,
    request: row.requestId ?? '',
    payer,
    copied: row.requestSessionId !== null && row.requestSessionId !== sessionId,
    born,
    sideChain: row.isSidechain,
    at: row.at,
    cwd: row.cwd ?? '',
    branch: row.gitBranch ?? '',
    model: row.model,
    input: usage.input,
    output: usage.output,
    cacheWrite5m: usage.cacheWrite5m,
    cacheWrite1h: usage.cacheWrite1h,
    cacheRead: usage.cacheRead,
    webSearches: usage.webSearches,
    speed: usage.speed ?? 'standard',
    geo: usage.inferenceGeo ?? '',
  };
}

/**
 * Two tellings of the same request as one. Commutative, associative and idempotent, so that it does not matter in
 * which order files are read, nor how often.
 *
 * The tokens are those of the telling with most output: versions before 2.1 wrote growing counts. Payer, folder
 * and branch are those of the original rather than of a copy; where copies cannot be told (older versions do not
 * mark them), of the transcript that came to be first.
 */
export function joined(a: Request, b: Request): Request {
  const used = compare(usageOrder(a), usageOrder(b)) >= 0 ? a : b;
  const origin = compare(originOrder(a), originOrder(b)) <= 0 ? a : b;
  return {
    message: a.message,
    request: a.request,
    payer: origin.payer,
    copied: origin.copied,
    born: origin.born,
    cwd: origin.cwd,
    branch: origin.branch,
    sideChain: a.sideChain && b.sideChain,
    at: Math.min(a.at, b.at),
    model: used.model,
    input: used.input,
    output: used.output,
    cacheWrite5m: used.cacheWrite5m,
    cacheWrite1h: used.cacheWrite1h,
    cacheRead: used.cacheRead,
    webSearches: used.webSearches,
    speed: used.speed,
    geo: used.geo,
  };
}

/**
 * Which of the requests with the same `message` only repeat another: a side chain that replays a message of the
 * main conversation under a request id of its own, and a row without a request id when there is one with.
 * @returns for each request whether it is a replay, in order
 */
export function replays(requests: readonly Pick<Request, 'request' | 'sideChain'>[]): boolean[] {
  const hasMain = requests.some((request) => !request.sideChain);
  const hasId = requests.some((request) => request.request !== '' && !(hasMain && request.sideChain));
  return requests.map(
    (request) => (hasMain && request.sideChain) || (hasId && request.request === '' && requests.length > 1),
  );
}

type Key = readonly (number | string)[];

function usageOrder(request: Request): Key {
  return [
    request.output,
    request.input,
    request.cacheWrite1h,
    request.cacheWrite5m,
    request.cacheRead,
    request.webSearches,
    request.model,
    request.speed,
    request.geo,
  ];
}

function originOrder(request: Request): Key {
  return [Number(request.copied), request.born, request.payer, request.cwd, request.branch];
}

function compare(a: Key, b: Key): number {
  for (const [index, value] of a.entries()) {
    const other = b[index];
    if (other === undefined || value === other) continue;
    return value < other ? -1 : 1;
  }
  return 0;
}
