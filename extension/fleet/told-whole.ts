import type { Session } from '../../sidecar/protocol/session.ts';
import { nameOf } from './session-name.ts';

/**
 * Characters of title and message that are there to be read: in a row of a side bar as wide as VS Code makes it, and in a
 * notification, which wraps its lines.
 */
const ROOM = { row: 40, notification: 300 } as const;

/** Fields of a shell command that run nothing by themselves. Source: the input of Claude Code's `Bash`. */
const ASIDE: readonly string[] = ['description', 'timeout'];

/**
 * What cannot be seen, or not as what it is: spaces that are drawn as one, control and format characters, such as those
 * that turn the direction of text around.
 */
const UNSEEN = /\s\s|[^\P{Z} ]|\p{C}/u;

/**
 * Whether the message of a session's need holds all that is asked, and there is room for it: what it says in part is not
 * to be allowed on the strength of it.
 */
export function isToldWhole(session: Session, where: keyof typeof ROOM): boolean {
  const { reason } = session;
  if (reason === null || UNSEEN.test(reason.message)) return false;
  if (nameOf(session).length + reason.message.length > ROOM[where]) return false;
  // The question of trust is nothing but its words.
  if (reason.kind === 'trust') return true;
  const { tool, input, truncated } = reason;
  if (tool === undefined || truncated === true || typeof input !== 'object' || input === null) return false;
  const fields = Object.entries(input).filter(([name]) => tool !== 'Bash' || !ASIDE.includes(name));
  const [only] = fields;
  return fields.length === 1 && typeof only?.[1] === 'string' && reason.message === `${tool}: ${only[1]}`;
}
