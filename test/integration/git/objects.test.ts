import { describe, expect, it } from 'vitest';
import { type Children, systemChildren } from '../../../sidecar/git/children.ts';
import { Objects } from '../../../sidecar/git/objects.ts';
import { TestRepository } from '../../support/repository.ts';

/** Real children; remembers those that are kept open. */
function watched(): { children: Children; kill: () => void; started: () => number } {
  const opened: { kill(): void }[] = [];
  return {
    children: {
      run: systemChildren.run,
      open(command, args, options) {
        const dialogue = systemChildren.open(command, args, options);
        opened.push(dialogue);
        return dialogue;
      },
    },
    kill: () => opened.at(-1)?.kill(),
    started: () => opened.length,
  };
}

describe('reading objects', () => {
  it('gives content by commit and path, many at once, through one git', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`d/f${at}`, `${'x'.repeat(at * 50)}\n`]),
    );
    using demo = TestRepository.with({ ...files, 'odd ü\nname': Buffer.from([0, 10, 255]), empty: '' });
    const { children, started } = watched();
    using objects = new Objects(demo.fairleadGit({ children }));
    const read = await Promise.all(Object.keys(files).map((path) => objects.read(`HEAD:${path}`)));
    expect(read.map((object) => object?.content.toString())).toEqual(Object.values(files));
    expect((await objects.read('HEAD:odd ü\nname'))?.content).toEqual(Buffer.from([0, 10, 255]));
    expect((await objects.read('HEAD:empty'))?.content).toHaveLength(0);
    expect(await objects.read('HEAD')).toMatchObject({ id: demo.tip(), type: 'commit' });
    expect(await objects.info('HEAD:d')).toMatchObject({ type: 'tree' });
    expect(started()).toBe(1);
  });

  it('knows what is missing from what is there, and does not lose its place', async () => {
    using demo = TestRepository.with({ a: 'a missing\n' });
    using objects = new Objects(demo.fairleadGit());
    const names = ['HEAD:nosuch', 'HEAD:a', 'nosuch missing\nHEAD:a', '', 'a\0b', 'HEAD:a', '1'.repeat(40)];
    const read = await Promise.all(names.map((name) => objects.read(name)));
    expect(read.map((object) => object?.content.toString())).toEqual([
      undefined,
      'a missing\n',
      undefined,
      undefined,
      undefined,
      'a missing\n',
      undefined,
    ]);
  });

  it('answers each of many questions for what is missing, one after the other', async () => {
    using demo = TestRepository.with({ a: '1' });
    using objects = new Objects(demo.fairleadGit());
    for (const name of ['HEAD:nosuch', 'HEAD:nosuch', 'HEAD:no', 'HEAD:a', 'HEAD:nosuch', 'HEAD:a']) {
      const found = await objects.read(name);
      expect(found?.content.toString(), name).toBe(name === 'HEAD:a' ? '1' : undefined);
    }
  });

  it('sees commits that were made after it started', async () => {
    using demo = TestRepository.with({ a: '1' });
    using objects = new Objects(demo.fairleadGit());
    expect(await objects.info('HEAD:b')).toBeUndefined();
    demo.commit({ b: '2' });
    demo.git('gc', '--quiet');
    expect((await objects.read('HEAD:b'))?.content.toString()).toBe('2');
  });

  it('starts again when its git is killed, and asks again what was not answered', async () => {
    using demo = TestRepository.with({ a: 'a', b: 'b' });
    const { children, kill, started } = watched();
    using objects = new Objects(demo.fairleadGit({ children }));
    expect((await objects.read('HEAD:a'))?.content.toString()).toBe('a');
    kill();
    const both = [objects.read('HEAD:a'), objects.read('HEAD:b')];
    expect((await Promise.all(both)).map((object) => object?.content.toString())).toEqual(['a', 'b']);
    expect(started()).toBe(2);
  });

  it('gives up on what its git dies of twice, and goes on with the rest', async () => {
    using demo = TestRepository.with({ a: 'a' });
    const open: Children['open'] = (command, args, options) => {
      const dialogue = systemChildren.open(command, args, options);
      const write = dialogue.write;
      return {
        ...dialogue,
        write: (data) => (String(data).includes('deadly') ? dialogue.kill() : write(data)),
      };
    };
    using objects = new Objects(demo.fairleadGit({ children: { run: systemChildren.run, open } }));
    const [deadly, fine] = await Promise.allSettled([objects.read('deadly'), objects.read('HEAD:a')]);
    expect(deadly).toMatchObject({ status: 'rejected', reason: { code: 'git.failed' } });
    expect(fine).toMatchObject({ status: 'fulfilled', value: { type: 'blob' } });
  });

  it('refuses what is too large, and everything once closed', async () => {
    using demo = TestRepository.with({ a: 'x'.repeat(100) });
    const objects = new Objects(demo.fairleadGit());
    await expect(objects.read('HEAD:a', 99)).rejects.toMatchObject({
      code: 'git.failed',
      data: { size: 100 },
    });
    const late = objects.read('HEAD:a');
    objects[Symbol.dispose]();
    await expect(late).rejects.toMatchObject({ code: 'cancelled' });
    await expect(objects.read('HEAD:a')).rejects.toMatchObject({ code: 'cancelled' });
  });
});
