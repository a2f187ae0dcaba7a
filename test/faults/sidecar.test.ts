import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { composerText, dialogOptions } from '../../sidecar/agents/claude/dialog.ts';
import { sleep } from '../../sidecar/platform/clock.ts';
import { SendPrompt } from '../../sidecar/protocol/protocol.ts';
import { Attached } from '../support/attached.ts';
import { TestClient } from '../support/client.ts';
import { EventStream } from '../support/event-stream.ts';
import { prompt } from '../support/model/story.ts';
import { asked, dieAt, turnsOf, waitFor } from '../support/session-faults.ts';
import { gone } from '../support/sidecar.ts';
import { World } from '../support/world.ts';

const TIMEOUT = { timeout: 180_000 };

const mkdir = (name: string) => ({ command: `mkdir ${name}`, description: 'Make a folder' });

/** A promise with the key to it. */
function gate(): { opens: Promise<void>; open: () => void } {
  let open = () => {};
  const opens = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opens, open };
}

describe('kill -9 of the sidecar', () => {
  it('while an agent works is not noticed, and its turn is counted once', TIMEOUT, async () => {
    await using world = await World.open();
    const answer = gate();
    world.model
      .when(prompt('Take your time'))
      .callsTool('Bash', { command: 'echo done > done.txt', description: 'Note it' })
      .waitsFor(() => answer.opens)
      .thenSays('Taken.');
    const { id, worktree } = await world.start('Take your time', '--mode', 'bypassPermissions');
    await allowBypass(world, id);
    await world.model.waitFor(({ conversation }) => conversation?.prompts.at(-1) === 'Take your time');
    await world.fairlead.until(id, ({ state }) => state === 'working');
    await world.fairlead.killSidecar();
    expect((await world.fairlead.show(id)).state).toBe('working');
    await world.fairlead.killSidecar();
    answer.open();
    await world.model.waitFor(({ conversation }) => (conversation?.toolResults.length ?? 0) > 0);
    const finished = await waitFor(world, 'finished', id);
    expect(finished).toMatchObject({ turns: 1, outcome: 'done', reason: null });
    expect(world.repository.at(worktree).status()).toContain('done.txt');
    expect(await turnsOf(world, id)).toEqual([['Take your time', 'done']]);
    expect(asked(world)).toHaveLength(1);
  });

  it('while a permission is open leaves it open, and it can be answered', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Make it')).callsTool('Bash', mkdir('it')).thenSays('Made.');
    const { id } = await world.start('Make it', '--mode', 'manual');
    const before = await world.asks(id);
    await world.fairlead.killSidecar();
    const after = await world.fairlead.show(id);
    expect(after).toMatchObject({ state: 'needs-you', since: before.since });
    expect(after.reason).toEqual(before.reason);
    await world.json('answer', id, 'allow');
    expect(await waitFor(world, 'finished', id)).toMatchObject({ turns: 1, outcome: 'done' });
  });

  it('while somebody types in an attached terminal is not noticed', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Begin')).says('Begun.');
    world.model.when(prompt('typed by hand')).says('Read by eye.');
    const { id } = await world.start('Begin');
    await waitFor(world, 'finished', id);
    await using attached = new Attached(world.fairlead, id);
    await attached.until((screen) => composerText(screen) === '');
    attached.type('typed ');
    await attached.until((screen) => composerText(screen) === 'typed');
    await world.fairlead.killSidecar();
    attached.type('by hand');
    await attached.until((screen) => composerText(screen) === 'typed by hand');
    attached.type('\r');
    await attached.shows('Read by eye.');
    expect(attached.exitCode).toBeUndefined();
    const after = await world.fairlead.until(id, ({ turns, state }) => turns === 2 && state === 'finished');
    expect(after.outcome).toBe('done');
    expect(await turnsOf(world, id)).toEqual([
      ['Begin', 'done'],
      ['typed by hand', 'done'],
    ]);
  });
});

describe('kill -9 of the ptyhost', () => {
  it('loses terminals, is said so, and conversations go on', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Remember blue')).says('Blue.');
    world.model.when(prompt('Work for ever')).says('I work.').hangs();
    world.model.when(prompt('What was it')).says('Blue.');
    const idle = await world.start('Remember blue');
    const busy = await world.start('Work for ever');
    const asleep = await world.start('Remember blue');
    await waitFor(world, 'finished', idle.id);
    await waitFor(world, 'finished', asleep.id);
    await world.json('send', asleep.id, '/exit');
    await world.fairlead.until(asleep.id, ({ facts }) => facts.life === 'sleeping');
    await world.model.waitFor(({ conversation }) => conversation?.prompts.at(-1) === 'Work for ever');
    await world.fairlead.until(busy.id, ({ state }) => state === 'working');
    const pid = await world.fairlead.ptyhostPid();
    if (pid === undefined) throw new Error('no ptyhost');
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    for (const { id } of [idle, busy]) {
      expect(await waitFor(world, 'needs-you', id)).toMatchObject({ reason: { kind: 'terminal-lost' } });
    }
    expect(await turnsOf(world, busy.id)).toEqual([['Work for ever', 'interrupted']]);
    expect(await world.fairlead.show(asleep.id)).toMatchObject({ reason: null, facts: { life: 'sleeping' } });
    expect(await world.json('send', idle.id, 'What was it')).toMatchObject({ confirmed: true });
    await waitFor(world, 'finished', idle.id);
    expect(world.model.asked('What was it').at(-1)?.conversation?.prompts).toEqual([
      'Remember blue',
      'What was it',
    ]);
    await world.json('resume', busy.id);
    const resumed = await world.fairlead.until(busy.id, ({ facts }) => facts.life === 'active');
    expect(resumed.reason).toBeNull();
    expect(resumed.outcome).toBe('interrupted');
  });
});

describe('two clients', () => {
  it('see the same, and what both send arrives once each', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt(/^(Begin|one|two)$/)).says('Understood.');
    world.model
      .when(prompt('Make both'))
      .callsTool('Bash', mkdir('both'))
      .thenCallsTool('Bash', mkdir('both'))
      .thenSays('Made.');
    await using first = new EventStream(world.fairlead);
    await using second = new EventStream(world.fairlead);
    const { id } = await world.start('Begin', '--mode', 'manual');
    await waitFor(world, 'finished', id);
    await Promise.all(['one', 'two'].map((text) => world.json('send', id, text)));
    await waitFor(world, 'finished', id);
    const turns = await turnsOf(world, id);
    expect(turns.map(([text]) => text).sort()).toEqual(['Begin', 'one', 'two']);

    // The same is asked twice: the second answer is not taken for the second question.
    await world.json('send', id, 'Make both');
    const { since } = await world.asks(id);
    const answers = await Promise.all(
      [1, 2].map(() => world.fairlead.run(['answer', id, 'allow', '--json'])),
    );
    expect(answers.map(({ code }) => code === 0).sort()).toEqual([false, true]);
    const again = await world.fairlead.until(id, (now) => now.state === 'needs-you' && now.since !== since);
    expect(again.reason?.message).toBe('Bash: mkdir both');
    await world.json('answer', id, 'allow');
    await waitFor(world, 'finished', id);

    const last = (stream: EventStream) =>
      stream.until(({ kind, message }) => kind === 'session-turn' && message === 'turn 4 ended');
    await Promise.all([last(first), last(second)]);
    const told = (stream: EventStream) => stream.seen.map(({ seq, message }) => `${seq} ${message}`);
    expect(told(first)).toEqual(told(second));
  });
});

describe('events of hooks', () => {
  it('that are lost are made up for by transcript, terminal and registry', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Begin')).says('Begun.');
    world.model.when(prompt('by hand')).says('Read.').usage({ input: 500, output: 50 });
    world.model.when(prompt('to the dead')).says('Heard.');
    world.model.when(prompt('Make it')).callsTool('Bash', mkdir('it')).thenSays('Made.');
    world.model.when(prompt('to the living')).says('Seen.');
    const { id, worktree } = await world.start('Begin', '--mode', 'manual');
    await waitFor(world, 'finished', id);
    await using attached = new Attached(world.fairlead, id);
    await attached.until((screen) => composerText(screen) === '');

    // A whole turn of which no event is left.
    await world.fairlead.killSidecar();
    attached.type('by hand');
    await attached.until((screen) => composerText(screen) === 'by hand');
    attached.type('\r');
    await attached.shows('Read.');
    await loseEvents(worktree, ['UserPromptSubmit', 'Stop']);
    await world.fairlead.until(id, ({ turns, state }) => turns === 2 && state === 'finished');
    expect(await turnsOf(world, id)).toEqual([
      ['Begin', 'done'],
      ['by hand', 'done'],
    ]);

    // A prompt of ours whose arrival is told by nothing but the transcript.
    const pid = await dieAt(world, 'prompt-typed');
    // The command would ask the next sidecar, which would see the events.
    using client = await TestClient.connect(world.fairlead.home);
    void client.request(SendPrompt, { session: id, text: 'to the dead' }).catch(() => {});
    await gone(pid);
    await attached.shows('Heard.');
    await loseEvents(worktree, ['UserPromptSubmit']);
    await world.json('send', id, 'to the living');
    await waitFor(world, 'finished', id);
    expect((await turnsOf(world, id)).map(([text]) => text)).toEqual([
      'Begin',
      'by hand',
      'to the dead',
      'to the living',
    ]);
    expect(asked(world)).toHaveLength(4);

    // A permission that only the terminal and the registry know of.
    await world.fairlead.killSidecar();
    attached.type('Make it');
    await attached.until((screen) => composerText(screen) === 'Make it');
    attached.type('\r');
    await attached.until((screen) => dialogOptions(screen).length > 0);
    await loseEvents(worktree, ['PreToolUse', 'PermissionRequest']);
    const asking = await waitFor(world, 'needs-you', id);
    expect(asking.reason).toMatchObject({ kind: 'permission', tool: 'Bash' });
    await world.json('answer', id, 'allow');
    expect(await waitFor(world, 'finished', id)).toMatchObject({ turns: 5, outcome: 'done' });
  });

  it('that come twice count once', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Begin')).says('Begun.');
    world.model.when(prompt('Make it')).callsTool('Bash', mkdir('it')).thenSays('Made.');
    const { id, worktree } = await world.start('Begin', '--mode', 'manual');
    await waitFor(world, 'finished', id);
    await using attached = new Attached(world.fairlead, id);
    await attached.until((screen) => composerText(screen) === '');
    await world.fairlead.killSidecar();
    attached.type('Make it');
    await attached.until((screen) => composerText(screen) === 'Make it');
    attached.type('\r');
    await attached.until((screen) => dialogOptions(screen).length > 0);
    await attached.press('1', (screen) => dialogOptions(screen).length === 0);
    await attached.shows('Made.');
    await eventsOf(worktree, ['Stop']);
    for (const { file } of await eventsOf(worktree, [])) {
      copyFileSync(join(eventsFolder(worktree), file), join(eventsFolder(worktree), `${file}.again`));
    }
    const finished = await waitFor(world, 'finished', id);
    expect(finished).toMatchObject({ turns: 2, outcome: 'done', reason: null });
    expect(await turnsOf(world, id)).toEqual([
      ['Begin', 'done'],
      ['Make it', 'done'],
    ]);
  });
});

function eventsFolder(worktree: string): string {
  const pointer = readFileSync(join(worktree, '.git'), 'utf8');
  return join(pointer.replace(/^gitdir: /, '').trim(), 'fairlead', 'events');
}

/** The event files that no sidecar has taken yet, once one of each of `wanted` is there. */
async function eventsOf(
  worktree: string,
  wanted: readonly string[],
): Promise<{ file: string; event: string }[]> {
  const folder = eventsFolder(worktree);
  for (const end = Date.now() + 20_000; ; await sleep(50)) {
    const found = readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .map((file) => ({
        file,
        event: JSON.parse(readFileSync(join(folder, file), 'utf8')).hook_event_name as string,
      }));
    if (wanted.every((name) => found.some(({ event }) => event === name))) return found;
    if (Date.now() > end) throw new Error(`no ${wanted.join(', ')} in ${JSON.stringify(found)}`);
  }
}

async function loseEvents(worktree: string, names: readonly string[]): Promise<void> {
  for (const { file, event } of await eventsOf(worktree, names)) {
    if (names.includes(event)) rmSync(join(eventsFolder(worktree), file));
  }
}

/** The mode that bypasses permissions asks once whether that is meant. */
async function allowBypass(world: World, session: string): Promise<void> {
  await waitFor(world, 'needs-you', session);
  await world.json('answer', session, 'allow');
}
