import type { Session, Turn } from '../../sidecar/protocol/session.ts';
import type { LandingStep } from '../../sidecar/queue/context.ts';
import type { SessionStep } from '../../sidecar/sessions/context.ts';
import type { World } from './world.ts';

export const waitFor = (world: World, goal: 'finished' | 'needs-you', session: string) =>
  world.json<Session>('wait', session, '--for', goal, '--timeout', '60');

export const turnsOf = async (world: World, session: string) =>
  (await world.json<Turn[]>('log', session)).map(({ prompt, outcome }) => [prompt, outcome]);

/** Prompts that the model was asked, each once for each turn. */
export const asked = (world: World) => [
  ...new Set(
    world.model.requests
      .filter(({ kind }) => kind === 'story')
      .map(({ conversation }) => `${conversation?.sessionId}#${conversation?.prompts.length}`),
  ),
];

/** Kills the sidecar and starts one that dies at `step`. */
export async function dieAt(world: World, step: SessionStep | LandingStep): Promise<number> {
  await world.fairlead.killSidecar();
  const { stdout } = await world.fairlead.run(['up', '--json'], { env: { FAIRLEAD_FAULT: step } });
  return (JSON.parse(stdout) as { pid: number }).pid;
}
