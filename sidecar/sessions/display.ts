import type { DisplayState, Facts } from '../protocol/session.ts';

/** The one word that people see, by the precedence of the facts. Pure; never stored. */
export function display(facts: Facts): DisplayState {
  if (facts.life === 'archived' || facts.life === 'paused') return facts.life;
  // Before `starting`: what waits for the person's word would start for ever.
  if (facts.agent === 'needs-you') return 'needs-you';
  if (facts.life === 'starting') return 'starting';
  if (facts.landing === 'resolving') return 'resolving';
  if (facts.agent === 'working') return 'working';
  if (facts.landing !== 'none') return facts.landing;
  if (facts.agent === 'finished') return 'finished';
  if (facts.agent === 'idle' && facts.life === 'active') return 'idle';
  return 'sleeping';
}
