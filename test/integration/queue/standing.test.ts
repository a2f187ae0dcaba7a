import { expect, it } from 'vitest';
import { demoWith, TestQueue, type TestSession } from '../../support/queue.ts';

/** A session whose landing met a conflict that is not handed back, and which was prompted since. */
async function prompted(): Promise<{ queue: TestQueue; session: TestSession; turn: () => void }> {
  const demo = demoWith({ a: '1\n' });
  const queue = TestQueue.open(demo, { config: { land: { handBack: false } } });
  const session = queue.session('Change', { files: { a: '2\n' } });
  demo.commit({ a: '3\n' });
  await queue.land(session);
  await queue.until(session, 'conflict');
  let n = 0;
  const turn = () => {
    n += 1;
    const { table } = queue.parts;
    table.openTurn({ session: session.id, agent_session: 'c', event: `e${n}`, prompt: 'p', started_at: n });
    table.update(session.id, { demand: null });
    queue.parts.queue.tick();
  };
  return { queue, session, turn };
}

const stands = {
  kind: 'conflict',
  message: 'It conflicts with main in a. Nothing has changed on its branch since.',
};

it('a conflict stands after a turn that changed nothing, also for the next sidecar', async () => {
  const { queue, session, turn } = await prompted();
  for (let n = 0; n < 2; n += 1) {
    queue.parts.inTurn.add(session.id);
    turn();
    // As long as the turn runs it may be about the conflict.
    await queue.parts.queue.preview(session.id);
    expect(queue.record(session).demand).toBeNull();
    queue.parts.inTurn.delete(session.id);
    queue.parts.queue.tick();
    await expect.poll(() => queue.record(session).demand).toEqual(stands);
  }
  queue.parts.table.update(session.id, { demand: null });
  await queue.restart();
  await expect.poll(() => queue.record(session).demand).toEqual(stands);
});

it.each(['commits', 'leaves changes'])('a conflict does not stand after a turn that %s', async (how) => {
  const { queue, session, turn } = await prompted();
  if (how === 'commits') session.work.commit({ b: '1\n' });
  else session.work.write({ b: '1\n' });
  turn();
  // Whatever it comes to is settled when the queue has ended.
  await queue.restart();
  await queue.parts.queue.stop();
  expect(queue.record(session).demand).toBeNull();
});
