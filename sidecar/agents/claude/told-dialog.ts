import type { StatusReport } from '../../protocol/ptywire.ts';
import type { Reason } from '../../protocol/reason.ts';
import type { OpenCall } from './hook-state.ts';
import type { RegistryEntry } from './registry.ts';
import { oneLine, questionsOf, reasonOf, summarize } from './tool-summary.ts';

/** What the terminal asks, with what is known of the call that it is about: one of `calls`, which run or wait. Pure. */
export function askedReason(status: StatusReport, calls: readonly OpenCall[]): Reason {
  const reason = statusReason(status);
  if (!['permission', 'question', 'plan'].includes(reason.kind)) return reason;
  const call = calls.findLast((each) => isAbout(status, each));
  return call === undefined ? reason : { ...reasonOf(call), kind: reason.kind };
}

/**
 * Whether the words of a dialog are about a call: `approve Bash: touch a`, `approve Update: /the/whole/path` (Edit),
 * `approve db - query (MCP)`, `answer: Which color? (Red · Blue)`. True where there are no words. Pure.
 */
export function isAbout({ kind, msg = '' }: StatusReport, { tool, input }: OpenCall): boolean {
  if (msg === '' || (kind !== 'permission' && kind !== 'question')) return true;
  if (tool === 'AskUserQuestion') {
    const said = bare(msg).replace(/^answer:/, '');
    return kind === 'question' && questionsOf(input).some(({ question }) => said.startsWith(bare(question)));
  }
  if (kind === 'question') return false;
  if (tool === 'ExitPlanMode') return /^approve plan\b/.test(msg);
  const said = approved(msg);
  if (said === undefined) return false;
  if (said.input === undefined) return bare(said.name).toLowerCase() === bare(nameOf(tool)).toLowerCase();
  const [told, asked] = [bare(said.input), bare(summarize(input))];
  return (
    told === asked || told.endsWith(`/${asked}`) || (msg.length >= MAX_COMPARED && asked.startsWith(told))
  );
}

/** Whether a dialog's words tell what is asked, and not the tool alone. Pure. */
export function tellsInput({ kind, msg = '' }: StatusReport): boolean {
  return kind === 'question' || approved(msg)?.input !== undefined;
}

/** Tools have names of their own in these words; some stand there without what they are to do. */
function approved(msg: string): { name: string; input?: string } | undefined {
  const [, name, input] = /^approve ([^:]*)(?:: (.*))?$/s.exec(msg) ?? [];
  if (name === undefined) return undefined;
  return input === undefined ? { name } : { name, input };
}

function nameOf(tool: string): string {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  return server === undefined ? tool : `${server} - ${name} (MCP)`;
}

/** A message of so many characters may have been cut; see `MAX_MESSAGE_BYTES`. */
const MAX_COMPARED = 1_000;

/** Without white space and control characters, which are told in different ways. */
function bare(text: string): string {
  return text
    .slice(0, 2 * MAX_COMPARED)
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, '');
}

/** Both signals say no more of a dialog than that it is open. */
const OPEN_DIALOG: Reason = { kind: 'unknown', message: 'A dialog of the agent is open in its terminal.' };

/** What the terminal's status says of a dialog; its message is written for people. */
export function statusReason(status: StatusReport): Reason {
  const said = oneLine(status.msg ?? '');
  if (status.reported !== undefined) return unknownState(status.reported);
  const message = (otherwise: string) => (said === '' ? otherwise : said);
  if (status.kind === 'auth') return { kind: 'login', message: message('The agent is not signed in.') };
  if (status.kind === 'question') {
    return { kind: 'question', message: message('The agent has a question.').replace(/^answer: /, '') };
  }
  if (status.kind !== 'permission') {
    return said === 'dialog open'
      ? OPEN_DIALOG
      : { kind: 'unknown', message: message('The agent waits for an answer.') };
  }
  if (/^trust\b/.test(said)) {
    return {
      kind: 'trust',
      message: 'Claude Code asks whether you trust this folder.',
      options: ['allow', 'deny'],
    };
  }
  if (/^approve plan\b/.test(said)) return { kind: 'plan', message: 'A plan waits for approval.' };
  const call = /^approve ([^:]+): /.exec(said);
  return {
    kind: 'permission',
    message: message('The agent asks for a permission.').replace(/^approve /, ''),
    ...(call?.[1] === undefined ? {} : { tool: call[1] }),
  };
}

export function waitingReason({ waitingFor }: RegistryEntry): Reason {
  switch (waitingFor) {
    case 'permission prompt':
    case 'sandbox request':
      return { kind: 'permission', message: 'The agent asks for a permission.' };
    case 'input needed':
      return { kind: 'question', message: 'The agent has a question.' };
    case 'dialog open':
      return OPEN_DIALOG;
    default:
      return {
        kind: 'unknown',
        message: `The agent waits: ${oneLine(waitingFor ?? 'it does not say for what')}`,
      };
  }
}

export function unknownState(reported: string): Reason {
  return { kind: 'unknown', message: `The agent reports a state that is not known: ${oneLine(reported)}` };
}
