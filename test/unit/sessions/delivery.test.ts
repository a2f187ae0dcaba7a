import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyStep } from '../../../sidecar/agents/claude/keys.ts';
import { Delivery } from '../../../sidecar/sessions/delivery.ts';
import { hookEvent } from '../agents/claude/timeline.ts';
import { SessionHome } from './session-home.ts';

const RULE = '─'.repeat(40);
const composer = (text: string) => [RULE, `❯ ${text}`.trimEnd(), RULE];

/** A screen that can be set, and the keys that were pressed on it. */
class ScreenAndKeys {
  rows: string[] = composer('');
  /** What the screen shows from the next look on. */
  next: string[][] = [];
  readonly pressed: string[] = [];
  awake = true;

  async isAwake(): Promise<boolean> {
    return this.awake;
  }

  async screen(): Promise<string[]> {
    this.rows = this.next.shift() ?? this.rows;
    return this.rows;
  }

  async press(_terminal: string, steps: readonly KeyStep[]): Promise<boolean> {
    for (const { keys } of steps) this.pressed.push(keys);
    return true;
  }

  /** How often Enter was pressed. */
  get submitted(): number {
    return this.pressed.filter((keys) => keys === '\r').length;
  }
}

describe('a prompt on its way', () => {
  let home: SessionHome;
  let terminal: ScreenAndKeys;
  let delivery: Delivery;
  beforeEach(() => {
    home = new SessionHome();
    terminal = new ScreenAndKeys();
    delivery = new Delivery(home.context, terminal);
    return () => home[Symbol.dispose]();
  });
  const deliver = (readiness: 'ready' | 'busy' | 'blocked' = 'ready') =>
    delivery.deliver(home.session, readiness);
  const stateOf = (id: string) => home.table.prompt(id)?.state;

  it('is typed when the agent is ready, and not before', async () => {
    home.addPrompt('p', 'do it');
    await deliver('busy');
    await deliver('blocked');
    expect(terminal.pressed).toEqual([]);
    await deliver();
    expect(terminal.pressed.join('')).toContain('do it');
    expect(terminal.submitted).toBe(1);
    expect(home.table.prompt('p')).toMatchObject({ state: 'sent', tries: 1, via: 'paste' });
  });

  it('is not typed when it was taken back while the screen was looked at', async () => {
    home.addPrompt('p', 'do it');
    const looked = terminal.screen.bind(terminal);
    terminal.screen = async () => {
      home.table.updatePrompt('p', { state: 'failed' });
      return looked();
    };
    await deliver();
    expect(terminal.pressed).toEqual([]);
    expect(stateOf('p')).toBe('failed');
  });

  it('is typed again once when nothing confirms it, and then is for a person', async () => {
    home.addPrompt('p', 'do it');
    await deliver();
    home.clock.time += 9_000;
    expect((await deliver()).lookAgainMs).toBe(1_000);
    home.clock.time += 1_000;
    await deliver();
    expect(terminal.submitted).toBe(1);
    home.clock.time += 3_000;
    await deliver();
    expect(terminal.submitted).toBe(2);
    home.clock.time += 60_000;
    const { demand } = await deliver();
    expect(demand).toMatchObject({ kind: 'prompt-undelivered' });
    expect(demand?.message).toContain('do it');
    expect(stateOf('p')).toBe('failed');
    await deliver();
    expect(terminal.submitted).toBe(2);
  });

  it('is not typed again while the agent works, nor soon after', async () => {
    home.addPrompt('p', 'do it');
    await deliver();
    home.clock.time += 60_000;
    await deliver('busy');
    await deliver();
    expect(terminal.submitted).toBe(1);
    home.clock.time += 9_000;
    await deliver();
    expect(terminal.submitted).toBe(1);
  });

  it('is never typed again to an agent that does not stir, which may have it still', async () => {
    home.addPrompt('p', 'do it');
    await deliver();
    terminal.awake = false;
    home.clock.time += 10_000;
    for (let waited = 0; waited < 19_000; waited += 1_000) {
      expect(await deliver()).toEqual({ lookAgainMs: 1_000 });
      home.clock.time += 1_000;
    }
    home.clock.time += 1_000;
    expect((await deliver()).demand).toMatchObject({ kind: 'prompt-undelivered' });
    expect(terminal.submitted).toBe(1);
    expect(stateOf('p')).toBe('failed');
    // It goes on, and has it.
    delivery.confirm('s', [hookEvent(1, 'UserPromptSubmit', { prompt: 'do it' })]);
    expect(stateOf('p')).toBe('confirmed');
  });

  it('is not typed again while an agent that has just woken up may still tell of it', async () => {
    home.addPrompt('p', 'do it');
    await deliver();
    home.clock.time += 10_000;
    expect((await deliver()).lookAgainMs).toBe(3_000);
    home.clock.time += 1_000;
    await deliver('busy');
    home.clock.time += 30_000;
    await deliver();
    home.clock.time += 10_000;
    expect((await deliver()).lookAgainMs).toBe(3_000);
    expect(terminal.submitted).toBe(1);
  });

  it('is not typed again when somebody has added to what stands there', async () => {
    home.addPrompt('p', 'do it');
    await deliver();
    terminal.rows = composer('do it and more');
    home.clock.time += 10_000;
    await deliver();
    home.clock.time += 3_000;
    expect((await deliver()).demand).toMatchObject({ kind: 'prompt-undelivered' });
    expect(terminal.submitted).toBe(1);
  });

  it('that the agent was started with has time to arrive once the agent is ready', async () => {
    home.addPrompt('p', 'do it', {
      state: 'sent',
      via: 'launch',
      tries: 1,
      sent_at: home.clock.time - 60_000,
    });
    await deliver();
    expect(terminal.submitted).toBe(0);
  });

  it('waits for those before it', async () => {
    home.addPrompt('p', 'first');
    home.clock.time += 1;
    home.addPrompt('q', 'second');
    await deliver();
    await deliver();
    expect(stateOf('q')).toBe('waiting');
    delivery.confirm('s', [hookEvent(1, 'UserPromptSubmit', { prompt: 'first' })]);
    await deliver();
    expect(stateOf('q')).toBe('sent');
    expect(terminal.submitted).toBe(2);
  });

  it('waits while somebody types, and puts aside what stands there when not', async () => {
    home.addPrompt('p', 'do it');
    terminal.next = [composer('ha'), composer('half a')];
    expect((await deliver()).lookAgainMs).toBeGreaterThan(0);
    expect(terminal.pressed).toEqual([]);
    expect(stateOf('p')).toBe('waiting');
    await deliver();
    // Ctrl-S stashes.
    expect(terminal.pressed[0]).toBe('\u0013');
    expect(terminal.submitted).toBe(1);
  });

  it('takes away what an earlier try left, and nothing else', async () => {
    home.addPrompt('p', 'do it now');
    await deliver();
    home.clock.time += 20_000;
    terminal.rows = composer('do it now');
    await deliver();
    home.clock.time += 3_000;
    await deliver();
    expect(terminal.pressed.some((keys) => keys.includes('\u0015'))).toBe(true);
    expect(terminal.pressed).not.toContain('\u0013');

    home.addPrompt('q', 'the next');
    delivery.confirm('s', [hookEvent(1, 'UserPromptSubmit', { prompt: 'do it now' })]);
    terminal.rows = composer('');
    await deliver();
    terminal.pressed.length = 0;
    home.clock.time += 20_000;
    terminal.rows = composer('of the person');
    await deliver();
    home.clock.time += 3_000;
    await deliver();
    expect(terminal.pressed[0]).toBe('\u0013');
    expect(terminal.pressed.some((keys) => keys.includes('\u0015'))).toBe(false);
  });

  it('waits for a composer that something covers, then is for a person and never typed', async () => {
    await deliver();
    home.clock.time += 600_000;
    home.addPrompt('p', 'do it');
    terminal.rows = ['a page of help'];
    expect((await deliver()).lookAgainMs).toBeGreaterThan(0);
    home.clock.time += 29_000;
    expect((await deliver()).lookAgainMs).toBeGreaterThan(0);
    home.clock.time += 2_000;
    expect((await deliver()).demand).toMatchObject({ kind: 'prompt-undelivered' });
    expect(stateOf('p')).toBe('failed');
    await deliver();
    expect(terminal.pressed).toEqual([]);
  });

  it('waits anew for a composer that was seen in between, and for each prompt', async () => {
    home.addPrompt('p', 'do it');
    terminal.rows = ['a page of help'];
    await deliver();
    home.clock.time += 29_000;
    terminal.next = [composer('ha'), composer('half a'), ['a page of help']];
    await deliver();
    await deliver();
    home.clock.time += 29_000;
    expect((await deliver()).demand).toBeUndefined();
    home.clock.time += 2_000;
    home.addPrompt('q', 'and this');
    expect((await deliver()).demand).toBeDefined();
    expect((await deliver()).demand).toBeUndefined();
    expect([stateOf('p'), stateOf('q')]).toEqual(['failed', 'waiting']);
    expect(terminal.pressed).toEqual([]);
  });

  it('counts as sent before it is typed', async () => {
    home.addPrompt('p', 'do it');
    const seen: unknown[] = [];
    home.context.step = (name) => seen.push([name, stateOf('p'), terminal.submitted]);
    await deliver();
    expect(seen).toEqual([
      ['prompt-sent', 'sent', 0],
      ['prompt-pasted', 'sent', 0],
      ['prompt-typed', 'sent', 1],
    ]);
  });
});

describe('a prompt has arrived', () => {
  const arrived = (text: string, run: (delivery: Delivery) => void): boolean => {
    using home = new SessionHome();
    home.addPrompt('p', text, { state: 'sent', sent_at: home.clock.time });
    run(new Delivery(home.context, new ScreenAndKeys()));
    return home.table.prompt('p')?.state === 'confirmed';
  };
  const told = (text: string, ...event: Parameters<typeof hookEvent>) =>
    arrived(text, (delivery) => delivery.confirm('s', [hookEvent(...event)]));

  it('when its hook tells it, whatever happened to white space', () => {
    expect(told('one\n\ttwo', 1, 'UserPromptSubmit', { prompt: ' one\r    two' })).toBe(true);
    expect(told('one two', 1, 'UserPromptSubmit', { prompt: 'one three' })).toBe(false);
    expect(told('one', 1, 'UserPromptSubmit', { prompt: 'one', agentId: 'sub' })).toBe(false);
  });

  it('when what a terminal cannot take as text was taken out or changed', () => {
    const submitted = (text: string, prompt: string) => told(text, 1, 'UserPromptSubmit', { prompt });
    expect(submitted('\u001b[31mred\u001b[0m', 'red')).toBe(true);
    expect(submitted('\u001b]0;title\u0007red', 'red')).toBe(true);
    expect(submitted('\u001b[31mred', '[31mred')).toBe(true);
    expect(submitted('Gru\u0308\u00dfe', 'Gr\u00fc\u00dfe')).toBe(true);
    expect(submitted('half \ud83d of a pair', 'half \ufffd of a pair')).toBe(true);
    expect(submitted('\u001b[31mred\u001b[0m', 'blue')).toBe(false);
  });

  it('when it is a command, by what the command does', () => {
    expect(told('/clear', 1, 'SessionStart', { source: 'clear' })).toBe(true);
    expect(told('/compact keep the plan', 1, 'SessionStart', { source: 'compact' })).toBe(true);
    expect(told('/exit', 1, 'SessionEnd', { endReason: 'prompt_input_exit' })).toBe(true);
    expect(told('/clear', 1, 'SessionStart', { source: 'startup' })).toBe(false);
    expect(told('clear it', 1, 'SessionStart', { source: 'clear' })).toBe(false);
  });

  it('when it stands in the transcript since it was sent', () => {
    const said = (at: number) =>
      arrived('one', (delivery) => delivery.confirmSaid('s', [{ promptId: 'a', text: 'one', at }]));
    expect(said(1_000_100)).toBe(true);
    expect(said(900_000)).toBe(false);
  });

  it('when it is a command and a dialog opened', () => {
    const opened = (text: string, since: number) =>
      arrived(text, (delivery) => delivery.confirmDialog('s', since));
    expect(opened('/model', 1_000_100)).toBe(true);
    expect(opened('/model', 900_000)).toBe(false);
    expect(opened('make a model', 1_000_100)).toBe(false);
  });
});
