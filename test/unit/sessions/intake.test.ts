import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_KEPT } from '../../../sidecar/agents/claude/hook-compaction.ts';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { Delivery } from '../../../sidecar/sessions/delivery.ts';
import { Feed, Intake } from '../../../sidecar/sessions/intake.ts';
import { SessionHome } from './session-home.ts';

const CONVERSATION = '11111111-1111-4111-8111-111111111111';

describe('transcripts', () => {
  it('of earlier conversations that left none are looked for now and then, the one at hand always', async () => {
    using home = new SessionHome();
    const keyboard = { screen: async () => [], press: async () => true, isAwake: async () => true };
    const ledger = Ledger.open(home.store, pricesWith());
    const intake = new Intake(home.context, ledger, new Delivery(home.context, keyboard), () => {});
    home.table.appendAgentSession('s', 'earlier', 0);
    home.table.appendAgentSession('s', 'at-hand', 0);
    const feed = new Feed(home.context, 's');
    const found = async () => {
      await intake.take(home.session, join(home.folder, 'git'), feed);
      return home.table
        .agentSessions('s')
        .filter(({ transcript }) => transcript !== null)
        .map(({ id }) => id);
    };
    expect(await found()).toEqual([]);
    const projects = join(home.folder, '.claude', 'projects', 'w');
    mkdirSync(projects, { recursive: true });
    for (const id of ['earlier', 'at-hand']) writeFileSync(join(projects, `${id}.jsonl`), '');
    expect(await found()).toEqual(['at-hand']);
    home.clock.time += 60_000;
    expect(await found()).toEqual(['earlier', 'at-hand']);
  });
});

describe('event files', () => {
  let home: SessionHome;
  let intake: Intake;
  let gitDir: string;
  let precious: string;
  beforeEach(() => {
    home = new SessionHome();
    const keyboard = { screen: async () => [], press: async () => true, isAwake: async () => true };
    intake = new Intake(
      home.context,
      Ledger.open(home.store, pricesWith()),
      new Delivery(home.context, keyboard),
      () => {},
    );
    gitDir = join(home.folder, 'git');
    precious = join(home.folder, 'precious');
    mkdirSync(join(gitDir, 'fairlead', 'events'), { recursive: true });
    mkdirSync(join(precious, 'inner'), { recursive: true });
    writeFileSync(join(precious, 'letter'), 'dear');
    writeFileSync(join(precious, 'inner', 'letter'), 'dear');
  });
  afterEach(() => home[Symbol.dispose]());
  const events = () => join(gitDir, 'fairlead', 'events');
  const take = () => intake.take(home.session, gitDir, new Feed(home.context, 's'));
  const put = (name: string, event: object) =>
    writeFileSync(join(events(), name), JSON.stringify({ session_id: CONVERSATION, ...event }));

  it('of a flood are taken in by and by, and no more is kept than is of use', async () => {
    const feed = new Feed(home.context, 's');
    for (let n = 0; n < 700; n += 1) {
      put(`${n}`, { hook_event_name: 'PreToolUse', prompt_id: 'p', tool_use_id: `t${n}`, tool_input: { n } });
    }
    do await intake.take(home.session, gitDir, feed);
    while (feed.hasMore);
    expect(readdirSync(events())).toEqual([]);
    const kept = home.table.hookEvents('s');
    expect(kept.length).toBeLessThanOrEqual(MAX_KEPT);
    expect(intake.events('s', feed).size).toBe(kept.length);
    expect(kept.some(({ body }) => body.includes('"t699"'))).toBe(true);
  }, 60_000);

  it('are taken in and removed', async () => {
    put('1', { hook_event_name: 'UserPromptSubmit', prompt: 'do it', prompt_id: 'p' });
    writeFileSync(join(events(), '2'), 'no event');
    expect(await take()).toBe(true);
    expect(readdirSync(events())).toEqual([]);
    expect(home.turns).toEqual([['do it', 'open', null]]);
  });

  it('that are links or folders cost nothing of what they lead to', async () => {
    symlinkSync(precious, join(events(), 'link'));
    mkdirSync(join(events(), 'folder'));
    writeFileSync(join(events(), 'folder', 'letter'), 'dear');
    await take();
    expect(readdirSync(events())).toEqual(['folder']);
    expect(readdirSync(join(events(), 'folder'))).toEqual(['letter']);
    expect(readdirSync(precious).sort()).toEqual(['inner', 'letter']);
  });

  it.each([
    ['their folder', (git: string) => join(git, 'fairlead', 'events')],
    ['the folder above', (git: string) => join(git, 'fairlead')],
    ['the git directory', (git: string) => git],
  ])('are not looked for when %s is a link', async (_what, at) => {
    const link = at(join(home.folder, 'other'));
    mkdirSync(join(link, '..'), { recursive: true });
    mkdirSync(join(precious, 'events'));
    mkdirSync(join(precious, 'fairlead', 'events'), { recursive: true });
    for (const folder of ['events', 'fairlead/events'])
      writeFileSync(join(precious, folder, 'letter'), 'dear');
    symlinkSync(precious, link);
    await intake.take(home.session, join(home.folder, 'other'), new Feed(home.context, 's'));
    expect(readdirSync(precious, { recursive: true }).sort()).toEqual(
      ['events', 'events/letter', 'fairlead', 'fairlead/events', 'fairlead/events/letter'].concat([
        'inner',
        'inner/letter',
        'letter',
      ]),
    );
  });
});
