import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composerText } from '../../../sidecar/agents/claude/dialog.ts';
import type { Session, Turn } from '../../../sidecar/protocol/session.ts';
import { Attached } from '../../support/attached.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = { timeout: 180_000 };

/** Prompts that are something else to a shell, to the CLI's arguments or to its composer. */
const PROMPTS = {
  slash: '/srv is full: what is in it?',
  bang: '!important: read the rules',
  hash: '# Heading first',
  dash: '--help me with the options',
  lines: 'Three things:\n\n- one\n- two "quoted" and $HOME `pwd`\n\tindented\n- three\\',
  letters: 'Grüße, 世界 — ✅ 👩‍👩‍👧 naïve',
  colours: 'Why is this \u001b[31mred\u001b[0m in the log?',
  decomposed: 'Gru\u0308ße an Jose\u0301',
  long: `A long one: ${Array.from({ length: 640 }, (_, n) => `sentence number ${n} says little.`).join('\n')}`,
};

/** What changes on the way: tabs, white space at the ends, all or the ESC of what sets colours, how letters are composed. */
const plain = (text: string) =>
  text
    .replace(/\u001b?\[\d*m/g, '')
    .replace(/\t/g, '    ')
    .normalize('NFC')
    .trim();

describe('a prompt', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open();
    world.model
      .when(prompt(/hold on/))
      .says('I hold on.')
      .after(4_000);
    world.model
      .when(prompt('Make a folder'))
      .callsTool('Bash', { command: 'mkdir made', description: 'Make it' })
      .thenSays('Made.');
    world.model.when(prompt(/./)).says('Understood.');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** The model's questions of one conversation, in order, each once. */
  const asked = (worktree: string) =>
    world.model.requests
      .filter(({ kind, conversation }) => kind === 'story' && conversation?.cwd === worktree)
      .map(({ conversation }) => conversation?.prompts.at(-1) ?? '');
  const waitFor = (session: string) =>
    world.json<Session>('wait', session, '--for', 'finished', '--timeout', '90');

  it('that comes first reaches the model as it was written', TIMEOUT, async () => {
    const made: { text: string; session: Session }[] = [];
    for (const text of Object.values(PROMPTS)) {
      const { session } = JSON.parse(
        (
          await world.fairlead.run(['new', '--json', '-'], {
            cwd: world.repository.folder,
            input: text,
          })
        ).stdout,
      ) as { session: Session };
      made.push({ text, session });
    }
    for (const { text, session } of made) {
      await waitFor(session.id);
      expect(asked(session.worktree).map(plain)).toEqual([plain(text)]);
      const [turn, ...more] = await world.json<Turn[]>('log', session.id);
      expect(more).toEqual([]);
      expect(plain(turn?.prompt ?? '')).toBe(plain(text));
    }
  });

  it('that comes later reaches the model as it was written', TIMEOUT, async () => {
    const { id, worktree } = await world.start('Begin');
    await waitFor(id);
    for (const text of Object.values(PROMPTS)) {
      const sent = await world.fairlead.json(['send', id, '-'], { input: text });
      expect(sent).toMatchObject({ confirmed: true });
      await waitFor(id);
    }
    const texts = ['Begin', ...Object.values(PROMPTS)].map(plain);
    expect(asked(worktree).map(plain)).toEqual(texts);
    const turns = await world.json<Turn[]>('log', id);
    expect(turns.map((turn) => plain(turn.prompt))).toEqual(texts);
  });

  it('waits for the end of the turn that runs, and several keep their order', TIMEOUT, async () => {
    const { id, worktree } = await world.start('Please hold on');
    await world.model.waitFor(({ conversation }) => conversation?.prompts.at(-1) === 'Please hold on');
    await world.fairlead.until(id, ({ state }) => state === 'working');
    expect(await world.json('send', id, 'Then this')).toMatchObject({ confirmed: false });
    expect(await world.json('send', id, 'Then that')).toMatchObject({ confirmed: false });
    expect(asked(worktree)).toEqual(['Please hold on']);
    await waitFor(id);
    expect(asked(worktree)).toEqual(['Please hold on', 'Then this', 'Then that']);
  });

  it('waits while a dialog is open', TIMEOUT, async () => {
    const { id, worktree } = await world.start('Make a folder', '--mode', 'manual');
    await world.json('wait', id, '--for', 'needs-you', '--timeout', '60');
    expect(await world.json('send', id, 'And then rest')).toMatchObject({
      confirmed: false,
      session: { state: 'needs-you', reason: { kind: 'permission' } },
    });
    await world.json('answer', id, 'allow');
    await waitFor(id);
    expect([...new Set(asked(worktree))]).toEqual(['Make a folder', 'And then rest']);
  });

  it('leaves what the person has begun to type', TIMEOUT, async () => {
    const { id, worktree } = await world.start('Begin');
    await waitFor(id);
    await using attached = new Attached(world.fairlead, id);
    await attached.until((screen) => composerText(screen) === '');
    attached.type('half a thou');
    await attached.until((screen) => composerText(screen) === 'half a thou');
    expect(await world.json('send', id, 'From elsewhere')).toMatchObject({ confirmed: true });
    await waitFor(id);
    await attached.until((screen) => composerText(screen) === 'half a thou');
    attached.type('ght');
    await attached.until((screen) => composerText(screen) === 'half a thought');
    attached.type('\r');
    await world.model.waitFor(({ conversation }) => conversation?.prompts.at(-1) === 'half a thought');
    await world.fairlead.until(id, ({ turns, state }) => turns === 3 && state === 'finished');
    expect(asked(worktree)).toEqual(['Begin', 'From elsewhere', 'half a thought']);
  });

  it('that is a command of the CLI arrives as one, and once', TIMEOUT, async () => {
    const { id, worktree } = await world.start('Begin');
    await waitFor(id);
    expect(await world.json('send', id, '/context')).toMatchObject({ confirmed: true });
    const dialog = await world.json<{ session: Session; confirmed: boolean }>('send', id, '/status');
    expect(dialog).toMatchObject({ confirmed: true, session: { state: 'needs-you' } });
    await world.json('send', id, 'Go on');
    await using attached = new Attached(world.fairlead, id);
    await attached.shows('Esc to c');
    await attached.press('\u001b', (screen) => !screen.join('\n').includes('Esc to c'));
    await world.fairlead.until(id, ({ turns, state }) => turns === 2 && state === 'finished');
    expect(asked(worktree)).toEqual(['Begin', 'Go on']);
  });
});
