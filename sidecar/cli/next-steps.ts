import { quoteWord } from '../platform/shell.ts';
import { answersTo, takesWhy } from '../protocol/answers.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import { needHint } from '../protocol/need-hint.ts';
import type { Reason } from '../protocol/reason.ts';
import type { Session } from '../protocol/session.ts';

/** What the person can do about a session that needs them, a command a line. `entry` is its last in the queue. Pure. */
export function nextSteps(session: Session, entry?: QueueEntry): string[] {
  const { id, reason, facts } = session;
  if (reason === null) return cutOffSteps(session);
  switch (reason.kind) {
    case 'permission':
    case 'plan':
      return takesWhy(reason)
        ? [`It takes allow, deny, or deny with a reason: fairlead answer ${id} "deny: why"`]
        : [`It takes allow or deny: fairlead answer ${id} allow`];
    case 'question':
      return [questionStep(id, reason)];
    case 'trust':
      return [`Answer it, or deny: fairlead answer ${id} allow`];
    case 'conflict':
    case 'check-failed':
    case 'landing-stopped':
    case 'base-refuses-pushes':
      return entry === undefined ? [`Land again: fairlead land ${id}`] : landingSteps(entry);
    case 'login':
      return entry !== undefined && entry.reason === 'sign-in'
        ? landingSteps(entry)
        : [needHint(id, reason, facts.life)];
    case 'unknown':
      return [dialogStep(id, reason, facts)];
    default:
      return [needHint(id, reason, facts.life)];
  }
}

/** A list of choices takes one; what else it may take only the terminal shows. */
function dialogStep(id: string, reason: Reason, { life }: Session['facts']): string {
  const [first] = reason.options ?? [];
  if (first === undefined) return needHint(id, reason, life);
  return `It takes an option, its number, or deny: fairlead answer ${id} ${quoted(first)}`;
}

/** A turn that ended badly, and whose agent ended: nothing goes on by itself. */
function cutOffSteps({ id, outcome, facts }: Session): string[] {
  if (facts.life !== 'sleeping' || facts.landing !== 'none') return [];
  if (outcome !== 'interrupted' && outcome !== 'failed') return [];
  const what = outcome === 'failed' ? 'Its last turn failed' : 'Its last turn was cut off';
  return [`${what}; to let it go on: fairlead send ${id} "Go on"`];
}

function questionStep(id: string, reason: Reason): string {
  const { questions = [] } = reason;
  if (questions.length > 1) {
    return `It takes a line for each of its ${questions.length} questions, or deny: fairlead answer ${id} TEXT`;
  }
  const [first] = answersTo(reason) ?? [];
  // Not all that is asked comes with what can be chosen; the dialog in the terminal has it.
  if (first === undefined) return `Answer in its terminal: fairlead attach ${id}`;
  const what = questions.length === 1 ? 'options parted by commas' : 'an option, its number';
  return `It takes ${what}, a text of your own, or deny: fairlead answer ${id} ${quoted(first)}`;
}

/** What the person can do about an entry that waits for them, or left the queue without landing. Pure. */
export function landingSteps(entry: QueueEntry): string[] {
  const { session: id, state, reason, base, remote, check } = entry;
  const onto = remote === null ? base : `${remote}/${base}`;
  const again = `Then land again: fairlead land ${id}`;
  if (state === 'waiting') {
    const out = `To take it out of the queue: fairlead unqueue ${id}`;
    if (reason === 'in-a-turn') return ['It stays queued and lands when the turn has ended.', out];
    return [
      reason === 'base-red'
        ? `Mend ${base}: what is queued for it lands then by itself; to check it at once: fairlead land ${id}`
        : `It stays queued and lands once that is put right; to try at once: fairlead land ${id}`,
      out,
    ];
  }
  if (state !== 'failed') return [];
  switch (reason) {
    case 'conflict': {
      const text = `Merge ${onto} into this branch and resolve the conflicts`;
      return [`Let its agent resolve it: fairlead send ${id} ${quoted(text)}`, again];
    }
    case 'red-check': {
      const text = `Merge ${onto} into this branch and make this succeed: ${check ?? 'the check'}`;
      return [`Let its agent mend it: fairlead send ${id} ${quoted(text)}`, again];
    }
    default:
      return [`Put that right, then land again: fairlead land ${id}`];
  }
}

/** As one word of a shell, whoever wrote it; in double quotes where that is the same, since they read better. */
function quoted(text: string): string {
  return /^[\w ./:,;()&|<>=-]*$/.test(text) ? `"${text}"` : quoteWord(text);
}
