import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import tell from '../../scripts/demo/stories.ts';
import { TASKS } from '../../scripts/demo/tasks.ts';
import { CLAUDE, prepareClaude } from '../support/claude.ts';
import { ScriptedModel } from '../support/model/scripted-model.ts';
import { processesNaming } from '../support/processes.ts';
import { removeFolder } from '../support/remove-folder.ts';
import { World } from '../support/world.ts';

const DEMO = resolve(import.meta.dirname, '../../scripts/demo/main.ts');
/** Where npm puts the tools of this folder, its own `claude` among them. */
const TOOLS = dirname(CLAUDE);

describe('the demo in the terminal alone', { timeout: 180_000 }, () => {
  it('plays the main job, ends by itself and leaves nothing', async () => {
    using place = new Place();
    const { code, output } = await play(['--once'], place.environment);
    expect(output).toContain('Three prompts became three landings on main.');
    expect(code).toBe(0);
    expect(output).not.toMatch(/VS Code|code-server|127\.0\.0\.1/);
    await expect.poll(() => processesNaming(place.folder), { timeout: 20_000 }).toEqual([]);
    expect(place.left()).toEqual([]);
  });

  it('plays with the claude on the PATH of the person, in their environment, with --real', async () => {
    using place = new Place();
    const model = await ScriptedModel.start();
    try {
      tell(model);
      const { env } = prepareClaude({ home: join(place.folder, 'home'), modelUrl: model.url });
      const theirs = join(place.folder, 'theirs');
      const record = join(place.folder, 'record');
      mkdirSync(theirs);
      writeFileSync(
        join(theirs, 'claude'),
        `#!/bin/sh\necho "$PATH npm=$npm_config_user_agent" >> '${record}'\nexec '${CLAUDE}' "$@"\n`,
        { mode: 0o755 },
      );
      const rest = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== TOOLS);
      const { code, output } = await play(['--once', '--real'], {
        ...env,
        ...place.environment,
        // As `npm start` sets it.
        PATH: [TOOLS, theirs, ...rest].join(delimiter),
        npm_config_user_agent: 'npm',
      });
      expect(output).toContain('Three prompts became three landings on main.');
      expect(code).toBe(0);
      const runs = readFileSync(record, 'utf8').trimEnd().split('\n');
      expect(runs.length).toBeGreaterThanOrEqual(3);
      for (const run of runs) {
        expect(run.split(/[: ]/)).not.toContain(TOOLS);
        expect(run).toMatch(/ npm=$/);
      }
    } finally {
      await model.stop();
    }
  });

  it('says so when there is no claude for --real, and does not take another', async () => {
    using place = new Place();
    const { code, output } = await play(['--once', '--real'], { ...place.environment, PATH: TOOLS });
    expect(output).toContain('there is no claude on your PATH');
    expect(code).toBe(1);
  });
});

describe('the model of the demo', { timeout: 120_000 }, () => {
  it('writes down a prompt that it has no story for, says what it is, and the work can be landed', async () => {
    await using world = await World.open();
    tell(world.model);
    const { id } = await world.start('Paint the harbour green, please', '--mode', 'acceptEdits');
    const { id: other } = await world.start('Paint the harbour green, please', '--mode', 'acceptEdits');
    for (const each of [id, other]) expect(await world.finished(each)).toMatchObject({ outcome: 'done' });
    const { stdout } = await world.fairlead.run(['log', id]);
    for (const prompt of Object.values(TASKS)) expect(stdout).toContain(prompt);
    expect(stdout).toContain('npm start -- --real');
    for (const each of [id, other]) {
      expect(await world.json('land', each, '--to', 'local', '--yes')).toMatchObject({ state: 'landed' });
    }
    const { repository } = world;
    const notes = repository.git('ls-tree', '-r', '--name-only', 'main', 'notes/').trim().split('\n');
    expect(notes).toHaveLength(2);
    expect(repository.git('show', `main:${notes[0]}`)).toContain('Paint the harbour green, please');
  });
});

/** A folder in which everything temporary of a demo goes. */
class Place implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-place-'));

  get environment(): Record<string, string> {
    return { TMPDIR: this.folder };
  }

  /** Folders that demos have made here and not removed. */
  left(): string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith('fairlead-'));
  }

  [Symbol.dispose](): void {
    removeFolder(this.folder);
  }
}

function play(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [DEMO, ...args], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', fail);
    child.once('close', (code) => done({ code, output }));
  });
}
