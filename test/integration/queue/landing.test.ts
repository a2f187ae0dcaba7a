import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';
import { PERSON } from '../../support/repository.ts';

describe('landing in this clone', () => {
  it('secures uncommitted work with the person as its author, and lands it', async () => {
    const demo = demoWith({ 'README.md': '# Demo\n', kept: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add a greeting');
    session.work.write({ 'greeting.txt': 'hello\n', kept: null });
    const entry = await queue.landed(session);

    expect(demo.log('main')[0]).toBe("Merge 'Add a greeting' (fairlead/add-a-greeting)");
    expect(demo.show('main', 'greeting.txt')).toBe('hello\n');
    expect(demo.show('main', 'kept')).toBeUndefined();
    expect(entry).toMatchObject({ landed: demo.tip('main'), position: null, tries: 0, message: null });
    const author = demo.git('log', '-1', '--format=%an <%ae>|%cn|%s%n%b', session.branch).trimEnd();
    expect(author).toBe(`${PERSON.name} <${PERSON.email}>|${PERSON.name}|Add a greeting`);
    expect(demo.git('log', '-1', '--format=%an <%ae>%n%b', 'main').trimEnd()).toBe(
      `${PERSON.name} <${PERSON.email}>`,
    );
    expect(queue.record(session)).toMatchObject({ landing: 'landed', demand: null });
    expect(demo.status()).toBe('');
    expect(queue.leftovers()).toEqual([]);
  });
});
