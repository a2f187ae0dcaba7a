import type { EntryState } from './entry.ts';
import type { ReasonKind } from './reason.ts';

const FINAL: readonly EntryState[] = ['landed', 'failed', 'cancelled', 'nothing-to-land'];
const NEEDS: readonly ReasonKind[] = ['conflict', 'check-failed', 'landing-stopped', 'base-refuses-pushes'];

/** Whether an entry of the merge queue never changes again. */
export function hasEnded(state: EntryState): boolean {
  return FINAL.includes(state);
}

/** Whether a need comes of a landing, and of nothing else: a sign-in, which a landing may need too, is none. */
export function isOfLanding(kind: ReasonKind): boolean {
  return NEEDS.includes(kind);
}
