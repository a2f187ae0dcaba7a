import { quoteWord } from '../platform/shell.ts';
import { answersTo, takesWhy } from '../protocol/answers.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import { hasEnded } from '../protocol/landing.ts';
import { needHint } from '../protocol/need-hint.ts';
import type { WaitGoal } from '../protocol/protocol.ts';
import type { Reason } from '../protocol/reason.ts';
import type { Facts, Session } from '../protocol/session.ts';

/** What the person can do about a session that needs them, a command a line. `entry` is its last in the queue. Pure. */
export function nextSteps(session: Session, entry?: QueueEntry): string[] {
  const { id, reason, facts } = session;
  if (reason === null) return cutOffSteps(session);
  if (session.state === 'resolving') return entry === undefined ? [] : landingSteps(entry, facts);
  switch (reason.kind) {
    case 'permission':
    case 'plan':
      return [
        `Allow it: fairlead answer ${id} allow`,
        `Or deny it: fairlead answer ${id} deny`,
        ...(takesWhy(reason) ? [`Or say why not: fairlead answer ${id} "deny: <why>"`] : []),
      ];
    case 'question':
      return [questionStep(id, reason)];
    case 'trust':
      return [`Answer it, or deny: fairlead answer ${id} allow`];
    case 'conflict':
    case 'check-failed':
    case 'landing-stopped':
    case 'base-refuses-pushes':
      return entry === undefined ? [`Land again: fairlead land ${id}`] : landingSteps(entry, facts);
    case 'login':
      return entry !== undefined && entry.reason === 'sign-in'
        ? landingSteps(entry, facts)
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

/**
 * What the person can do with a session that asks nothing of them, a command a line. `landsAgain`: it left the queue
 * without landing. Pure.
 */
export function onwardSteps({ id, state, turns, facts }: Session, { landsAgain = false } = {}): string[] {
  const speak = `fairlead send ${id} "<prompt>"`;
  const again = landsAgain ? [`When that is put right, land again: fairlead land ${id}`] : [];
  switch (state) {
    case 'finished':
      return [
        `See what it changed: fairlead diff ${id}`,
        ...(landsAgain ? again : [`Land it: fairlead land ${id}`]),
        `Or go on: ${speak}`,
      ];
    case 'idle':
      return [`Tell it what to do: ${speak}`, ...again];
    case 'sleeping': {
      const start =
        turns === 0
          ? [`Tell it what to do: ${speak}`, `Or start its agent: fairlead resume ${id}`]
          : [`Start it again, with its conversation: fairlead resume ${id}`, `Or with a prompt: ${speak}`];
      return [...start, ...again];
    }
    case 'landed':
      return [`See what landed: fairlead diff ${id}`, `Put it away: fairlead archive ${id}`];
    case 'archived':
      return facts.landing === 'landed' ? [] : [`Its branch can still land: fairlead land ${id}`];
    case 'starting':
    case 'working':
      return [`Look at it: fairlead attach ${id}`];
    case 'queued':
    case 'landing':
      return [`See the land order: fairlead queue`];
    case 'needs-you':
    case 'paused':
    case 'resolving':
    case 'in-review':
    case 'ready':
      return [];
  }
}

/** What to do when a session did not get where it was waited for, which goes on without the waiting. Pure. */
export function afterWaiting({ id, state }: Session, goal: WaitGoal): string {
  switch (state) {
    case 'needs-you':
      return `See what it waits for: fairlead show ${id}`;
    case 'finished':
    case 'idle':
    case 'sleeping':
    case 'landed':
    case 'archived':
      return `It does nothing, and waits for nothing; see how it can go on: fairlead show ${id}`;
    default:
      return `It goes on. Wait again: fairlead wait ${id} --for ${goal}`;
  }
}

/** What the person can do about an entry that waits for them, or left the queue without landing. Pure. */
export function landingSteps(entry: QueueEntry, facts?: Pick<Facts, 'life'>): string[] {
  const { session: id, state, reason, base, remote, check, branch } = entry;
  const onto = remote === null ? base : `${remote}/${base}`;
  if (state === 'waiting') {
    const out = `To take it out of the queue: fairlead unqueue ${id}`;
    if (reason === 'in-a-turn') return ['It stays queued and lands when the turn has ended.', out];
    if (reason === 'after') {
      const others = entry.after.map(
        (other) => `It lands by itself once ${other} has landed; to land that: fairlead land ${other}`,
      );
      return [...others, out];
    }
    return [
      reason === 'base-red'
        ? `Mend ${base}: what is queued for it lands then by itself; to check it at once: fairlead land ${id}`
        : `It stays queued and lands once that is put right; to try at once: fairlead land ${id}`,
      out,
    ];
  }
  if (state === 'handed-back') return handBackSteps(entry);
  if (state !== 'failed') return [];
  const work = reason === 'conflict' ? 'resolve the conflicts' : `make this succeed: ${check ?? 'the check'}`;
  switch (reason) {
    case 'conflict':
    case 'red-check': {
      // The agent of an archived session has no worktree any more; another can take its branch over.
      if (facts?.life === 'archived') {
        const text = quoted(`Merge ${branch} into this branch and ${work}`);
        return [
          `Its agent is put away; let another take its work over, and land that: fairlead new --base ${quoteWord(base)} ${text}`,
        ];
      }
      const text = quoted(`Merge ${onto} into this branch and ${work}`);
      const how = reason === 'conflict' ? 'resolve it' : 'mend it';
      return [`Let its agent ${how}: fairlead send ${id} ${text}`, `Then land again: fairlead land ${id}`];
    }
    default:
      return [`Put that right, then land again: fairlead land ${id}`];
  }
}

/** What the person can do about a conflict that its agent has, or is to get. */
function handBackSteps({ session: id, handBack }: QueueEntry): string[] {
  const out = `To take it out of the queue: fairlead unqueue ${id}`;
  if (handBack?.phase === 'needs-you') {
    return [
      `See what its agent made of it: fairlead diff ${id}`,
      `Tell it what is missing: fairlead send ${id} "<prompt>"`,
      `Or land again: fairlead land ${id}`,
      out,
    ];
  }
  if (handBack?.phase === 'preparing') {
    return [`It goes to its agent as soon as that can be; to try it anew as it is: fairlead land ${id}`, out];
  }
  return [
    'It lands by itself once its agent has resolved the conflict.',
    `Look at it: fairlead attach ${id}`,
    out,
  ];
}

/** For an entry that is to land after others: how those land that are not queued. `entries`: all, ended ones too. Pure. */
export function stepsBefore({ after }: QueueEntry, entries: readonly QueueEntry[]): string[] {
  const isSeenTo = (id: string) =>
    entries.some(({ session, state }) => session === id && (isThere(state) || !hasEnded(state)));
  return after
    .filter((id) => !isSeenTo(id))
    .map((id) => `${id} is not queued, and has to land before: fairlead land ${id}`);
}

function isThere(state: QueueEntry['state']): boolean {
  return state === 'landed' || state === 'nothing-to-land';
}

/** As one word of a shell, whoever wrote it; in double quotes where that is the same, since they read better. */
function quoted(text: string): string {
  return /^[\w ./:,;()&|<>=-]*$/.test(text) ? `"${text}"` : quoteWord(text);
}
