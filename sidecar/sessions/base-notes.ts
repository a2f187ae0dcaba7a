import type { Base } from '../git/base.ts';
import { whyRemoteFailed } from '../git/remote-trouble.ts';
import type { SessionRecord } from './record.ts';

/** What the person should know of the base that was found, in whole sentences. `now` in milliseconds since the epoch. */
export function notesOn(base: Base, now: number): string[] {
  const notes: string[] = [];
  if (base.stale !== undefined) {
    const { lastFetch, why, text } = base.stale;
    const reason = why === 'missing-ref' ? 'the branch is gone there' : whyRemoteFailed(why, text);
    const old = lastFetch === undefined ? 'it was never fetched' : `last fetched ${ago(now - lastFetch)} ago`;
    notes.push(`The remote of ${base.branch} could not be fetched (${reason}); ${old}.`);
  }
  if (base.ahead > 0 && base.upstream !== undefined) {
    const { remote } = base.upstream;
    const [commits, them] = base.ahead === 1 ? ['a commit', 'it'] : [`${base.ahead} commits`, 'them'];
    notes.push(
      `${base.branch} has ${commits} that ${remote} lacks. The session starts with ${them}; unless you push ${them} first, landing on ${remote} asks whether to take ${them} along.`,
    );
  }
  return notes;
}

/** `12 s`, `5 min`, `7 h`, `3 days`. */
function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** What the person should know of a session that was asked for inside the worktree of another one. */
export function notesWithin(within: SessionRecord | undefined): string[] {
  if (within === undefined) return [];
  return [
    `Asked for in the worktree of ${within.id}: it starts from ${within.base}, as that one did; --base ${within.branch} would start from its branch.`,
  ];
}
