import { existsSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Doctor, FindRepository } from '../../../sidecar/protocol/protocol.ts';
import { TestClient } from '../../support/client.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

/** A sidecar with a window, which looks at a repository whose own configuration leaves `mark` when it is run. */
async function look(demo: TestRepository, mark: string) {
  const fairlead = new SidecarHarness(demo.environment);
  await fairlead.json(['up']);
  const client = await TestClient.connect(fairlead.home, { environment: demo.environment });
  return {
    ran: () => existsSync(mark),
    find: (uncommitted?: boolean) =>
      client.request(FindRepository, {
        folder: demo.folder,
        ...(uncommitted === undefined ? {} : { uncommitted }),
      }),
    doctor: () => client.request(Doctor, { folder: demo.folder }),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await fairlead[Symbol.asyncDispose]();
    },
  };
}

describe('a folder that nobody has trusted', { timeout: 60_000 }, () => {
  it('is looked at without its filters; only who asks for uncommitted files has them run', async () => {
    using demo = TestRepository.with({ '.gitattributes': '*.txt filter=own\n', 'a.txt': 'one\n' });
    const mark = join(demo.root, 'filter-ran');
    for (const filter of ['clean', 'smudge', 'process']) {
      demo.git('config', `filter.own.${filter}`, `touch ${mark}; cat`);
    }
    // git cannot know without the filter whether a file has changed whose time has.
    utimesSync(join(demo.folder, 'a.txt'), 1, 1);
    await using window = await look(demo, mark);

    expect(await window.find()).toMatchObject({
      main: demo.folder,
      branch: 'main',
      branches: ['main'],
      hasCommit: true,
      uncommitted: [],
    });
    await window.doctor();
    expect(window.ran()).toBe(false);

    await window.find(true);
    expect(window.ran()).toBe(true);
  });

  it('is looked at without fetching what it lacks from where its configuration says', async () => {
    using demo = TestRepository.with({ 'a.txt': 'one\n' });
    const mark = join(demo.root, 'fetch-ran');
    demo.git('config', 'core.repositoryFormatVersion', '1');
    demo.git('config', 'extensions.partialClone', 'origin');
    demo.git('config', 'remote.origin.promisor', 'true');
    demo.git('config', 'remote.origin.url', demo.folder);
    demo.git('config', 'remote.origin.uploadPack', `touch ${mark}; false`);
    const tip = demo.tip();
    rmSync(join(demo.folder, '.git', 'objects', tip.slice(0, 2), tip.slice(2)));
    await using window = await look(demo, mark);

    await window.find();
    await window.doctor();
    expect(window.ran()).toBe(false);
    expect(() => demo.git('cat-file', '-p', tip)).toThrow();
    expect(window.ran()).toBe(true);
  });

  it('tells a repository that cannot be used from a folder without one', async () => {
    using demo = TestRepository.empty();
    await using window = await look(demo, join(demo.root, 'nothing'));
    expect(await window.find()).toMatchObject({ main: demo.folder, hasCommit: false, message: null });
    demo.git('config', 'core.bare', 'true');
    expect(await window.find()).toMatchObject({
      main: null,
      message: expect.stringContaining('bare'),
      hint: expect.any(String),
    });
    rmSync(join(demo.folder, '.git'), { recursive: true });
    expect(await window.find()).toMatchObject({
      main: null,
      message: expect.stringContaining('not in a git repository'),
      hint: null,
    });
  });
});
