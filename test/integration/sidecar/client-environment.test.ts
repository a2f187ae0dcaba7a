import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { NewSession } from '../../../sidecar/protocol/protocol.ts';
import { TestClient } from '../../support/client.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

it("a session starts in its client's environment without what no agent may inherit", async () => {
  using repository = TestRepository.with({ 'README.md': '# Demo\n' });
  await using fairlead = new SidecarHarness(repository.environment);
  await fairlead.json(['up']);
  const foreign = {
    NODE_OPTIONS: '--no-warnings',
    CLAUDECODE: '1',
    CLAUDE_CODE_CHILD_SESSION: '1',
    VSCODE_PID: '1',
    GIT_DIR: '/nowhere',
    TMUX: 't',
  };
  using client = await TestClient.connect(fairlead.home, {
    environment: { ...repository.environment, MINE: 'kept', ...foreign },
  });
  await client.request(NewSession, { folder: repository.folder, start: false });
  using database = new DatabaseSync(join(fairlead.home, 'state.db'), { readOnly: true });
  const rows = database.prepare('SELECT variables FROM environment').all();
  const kept = rows.map(({ variables }) => JSON.parse(String(variables)) as [string, string][]);
  expect(kept).toHaveLength(1);
  const names = kept.flat().map(([name]) => name);
  expect(names).toContain('MINE');
  expect(names.filter((name) => name in foreign)).toEqual([]);
});
