import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../protocol/errors.ts';
import * as z from '../../protocol/zod.ts';

/** An event file above this size, in bytes, is read only in part. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Event files that one look takes in, and their bytes; what is left waits for the next. An agent leaves a few. */
export const MAX_EVENTS_AT_ONCE = 200;
export const MAX_BYTES_AT_ONCE = 32 * 1024 * 1024;

/** Names that one look goes through to find the oldest. */
const MAX_NAMES = 20_000;

/** Characters of a text that a person reads: a prompt, an answer. */
const MAX_TEXT = 1024 * 1024;

/** Events whose tool input tells something that no other does. */
const WITH_INPUT = ['PreToolUse', 'PermissionRequest'];

/** How much of an oversized event file is read; the fields that every event has come first. */
const PREFIX_BYTES = 256 * 1024;

/** One hook event of the CLI: what it said, and when. */
export interface HookEvent {
  /** Identity of the event file: its time in nanoseconds (19 digits), then its name. Sorts by time. */
  name: string;
  /** Milliseconds since the epoch, with a fraction: when the hook wrote the file. */
  at: number;
  /** `hook_event_name`; may be one that this version does not know. */
  event: string;
  /** The conversation's id in the CLI, a UUID. */
  agentSessionId: string;
  /** Set for a subagent. */
  agentId?: string;
  promptId?: string;
  toolName?: string;
  toolInput?: unknown;
  toolUseId?: string;
  /** Of UserPromptSubmit: the text as the agent got it. */
  prompt?: string;
  /** Of SessionStart: startup, resume, clear, compact, fork. */
  source?: string;
  /** Of SessionEnd: clear, resume, logout, prompt_input_exit, other. */
  endReason?: string;
  /** Of Stop: background tasks and crons that will wake the agent by themselves. */
  backgroundTasks?: number;
  /** Of Stop: the last thing the agent said. */
  lastMessage?: string;
  /** Of StopFailure: kind of the API error, such as `authentication_failed`. */
  error?: string;
  /** Of Notification. */
  message?: string;
  notificationType?: string;
  /** Of PostToolUseFailure: the person interrupted the tool. */
  isInterrupt?: boolean;
  permissionMode?: string;
  model?: string;
  transcriptPath?: string;
  cwd?: string;
}

/** Ids, names, paths. */
const text = z.catch(z.optional(z.string().check(z.maxLength(8_192))), undefined);
const prose = z.catch(
  z.optional(
    z.pipe(
      z.string(),
      z.transform((whole) => whole.slice(0, MAX_TEXT)),
    ),
  ),
  undefined,
);
const list = z.catch(z.optional(z.array(z.unknown())), undefined);

/** Only what makes it an event is required: one strange field must not lose the rest. */
const RawEvent = z.looseObject({
  hook_event_name: z.string().check(z.minLength(1), z.maxLength(100)),
  // Becomes an argument of the CLI and part of a path.
  session_id: z.uuid(),
  agent_id: text,
  prompt_id: text,
  tool_name: text,
  tool_input: z.optional(z.unknown()),
  tool_use_id: text,
  prompt: prose,
  source: text,
  reason: text,
  background_tasks: list,
  session_crons: list,
  last_assistant_message: prose,
  error: text,
  error_details: prose,
  message: prose,
  notification_type: text,
  is_interrupt: z.catch(z.optional(z.boolean()), undefined),
  permission_mode: text,
  model: text,
  transcript_path: text,
  cwd: text,
});

export interface EventFiles {
  /** In order of time. */
  events: HookEvent[];
  /** Names of the files behind them, and of those that are no events, to be removed once the state is stored. */
  files: string[];
  /** What was refused, with the reason, for the log. */
  refused: { file: string; why: string }[];
  /** There are more: look again. */
  more: boolean;
}

/**
 * Reads the finished event files of a folder. They are untrusted: anything that can write to the worktree's git
 * directory can put files there. Drafts (a leading dot) and folders are left alone; symbolic links, devices and what
 * is no event are refused. A folder that is missing has no events. The oldest come first, and no more at once than
 * {@link MAX_EVENTS_AT_ONCE}. That `folder` is none behind a link is for the caller to see to.
 */
export function readEventFiles(folder: string): EventFiles {
  const result: EventFiles = { events: [], files: [], refused: [], more: false };
  const { found, more } = oldestFiles(folder);
  result.more = more;
  let bytes = 0;
  for (const { name, size } of found) {
    bytes += Math.min(size, MAX_EVENT_BYTES);
    if (bytes > MAX_BYTES_AT_ONCE && result.files.length > 0) {
      result.more = true;
      break;
    }
    const event = readEventFile(folder, name);
    if (event === 'gone') continue;
    result.files.push(name);
    if (typeof event === 'string') result.refused.push({ file: name, why: event });
    else result.events.push(event);
  }
  result.events.sort((one, other) => (one.name < other.name ? -1 : 1));
  return result;
}

function oldestFiles(folder: string): { found: { name: string; size: number }[]; more: boolean } {
  const files: { name: string; size: number; at: bigint }[] = [];
  let names = 0;
  try {
    using entries = opendirSync(folder);
    for (let entry = entries.readSync(); entry !== null && names < MAX_NAMES; entry = entries.readSync()) {
      names += 1;
      const { name } = entry;
      if (name.startsWith('.') || entry.isDirectory()) continue;
      const stat = lstatSync(join(folder, name), { bigint: true, throwIfNoEntry: false });
      if (stat !== undefined) files.push({ name, size: Number(stat.size), at: stat.mtimeNs });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  files.sort((one, other) =>
    one.at === other.at ? (one.name < other.name ? -1 : 1) : one.at < other.at ? -1 : 1,
  );
  const more = files.length > MAX_EVENTS_AT_ONCE || (names === MAX_NAMES && files.length > 0);
  return { found: files.slice(0, MAX_EVENTS_AT_ONCE), more };
}

/** The event in one file, `gone` when somebody took it away meanwhile, or why it is none. */
function readEventFile(folder: string, name: string): HookEvent | string {
  let fd: number;
  try {
    // Non-blocking, so that a fifo put there cannot hang the reader.
    fd = openSync(join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : messageOf(error);
  }
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) return 'not a regular file';
    const whole = stat.size <= BigInt(MAX_EVENT_BYTES);
    const bytes = readUpTo(fd, whole ? Number(stat.size) : PREFIX_BYTES);
    const raw = whole ? parseWhole(bytes.toString('utf8')) : parsePrefix(bytes.toString('utf8'));
    const parsed = RawEvent.safeParse(raw);
    if (!parsed.success) return 'not a hook event';
    const event = hookEvent(
      parsed.data,
      `${String(stat.mtimeNs).padStart(19, '0')}-${name}`,
      Number(stat.mtimeNs) / 1e6,
    );
    // What is nested too deep can be read, but not written.
    JSON.stringify(event);
    return event;
  } catch (error) {
    return messageOf(error);
  } finally {
    closeSync(fd);
  }
}

function readUpTo(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(fd, bytes, filled, size - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

function parseWhole(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The members of a JSON object that are complete within `json`, a prefix of its text.
 * Undefined when it does not begin an object.
 */
export function parsePrefix(json: string): unknown {
  const begin = json.search(/\S/);
  if (begin === -1 || json[begin] !== '{') return undefined;
  let depth = 0;
  let inString = false;
  let lastComplete = begin + 1;
  for (let at = begin; at < json.length; at += 1) {
    const char = json[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) return parseWhole(json.slice(begin, at + 1));
    } else if (char === ',' && depth === 1) lastComplete = at;
  }
  return parseWhole(`${json.slice(begin, lastComplete)}}`);
}

function hookEvent(raw: z.infer<typeof RawEvent>, name: string, at: number): HookEvent {
  const event: HookEvent = { name, at, event: raw.hook_event_name, agentSessionId: raw.session_id };
  const set = <K extends keyof HookEvent>(key: K, value: HookEvent[K] | undefined) => {
    if (value !== undefined) event[key] = value;
  };
  set('agentId', raw.agent_id);
  set('promptId', raw.prompt_id);
  set('toolName', raw.tool_name);
  if (WITH_INPUT.includes(event.event)) set('toolInput', raw.tool_input);
  set('toolUseId', raw.tool_use_id);
  set('prompt', raw.prompt);
  set('source', raw.source);
  set('endReason', raw.reason);
  if (raw.background_tasks !== undefined || raw.session_crons !== undefined) {
    event.backgroundTasks = (raw.background_tasks?.length ?? 0) + (raw.session_crons?.length ?? 0);
  }
  set('lastMessage', raw.last_assistant_message);
  set('error', raw.error);
  set('message', raw.message ?? raw.error_details);
  set('notificationType', raw.notification_type);
  set('isInterrupt', raw.is_interrupt);
  set('permissionMode', raw.permission_mode);
  set('model', raw.model);
  set('transcriptPath', raw.transcript_path);
  set('cwd', raw.cwd);
  return event;
}
