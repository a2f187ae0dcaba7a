import { expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

it('x', async () => {
  const demo = demoWith({ a: '1\n' });
  const queue = TestQueue.open(demo);
  const session = queue.session('Change', { files: { a: '2\n' } });
  demo.commit({ a: '3\n' });
  await queue.land(session);
  await queue.until(session, 'handed-back');
  await expect.poll(() => queue.entry(session).handBack?.phase).toBe('asked');
  console.log(queue.entry(session), session.work.read('a'), session.work.status(), queue.parts.store.all('select * from prompt'), queue.parts.logged);
});
