import type { DisplayState, Session } from '../protocol/session.ts';
import { stateWords } from '../protocol/wording.ts';
import { type Output, printable } from './output.ts';

const STYLE: Partial<Record<DisplayState, Parameters<Output['paint']>[0]>> = {
  'needs-you': ['bold', 'yellow'],
  working: 'cyan',
  starting: 'cyan',
  resolving: 'magenta',
  finished: 'green',
  landed: ['green', 'dim'],
  queued: 'blue',
  landing: 'blue',
  sleeping: 'dim',
  archived: 'dim',
};

/** The state as people read it, see {@link stateWords}. */
export function stateLabel(session: Session, output: Output): string {
  const style = STYLE[session.state];
  const text = stateWords(session);
  return style === undefined ? text : output.paint(style, text);
}

/** The state as a sentence: `k3f9 needs you: Bash: npm test`, `k3f9 is working.` */
export function stateSentence(session: Session): string {
  if (session.state !== 'needs-you') return `${session.id} is ${stateWords(session)}.`;
  return `${session.id} needs you: ${printable(session.reason?.message ?? 'see its terminal.')}`;
}
