import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { SessionPty } from '../../../extension/terminals/session-pty.ts';
import type { Size } from '../../../sidecar/protocol/ptywire.ts';

/** The byte stream of a terminal, which tells every size to all who follow it. */
class Stream extends EventEmitter {
  readonly sizes: Size[] = [];
  readonly written: string[] = [];
  resize(size: Size): void {
    this.sizes.push(size);
    this.emit('resize', size);
  }
  write(keys: string): void {
    this.written.push(keys);
  }
  processed(): void {}
  detach(): void {}
}

/** A terminal of 80 columns and 24 rows in the window, and what VS Code has drawn it as. */
async function scene() {
  const stream = new Stream();
  const pty = new SessionPty(async (): Promise<never> => stream as never, 'agent');
  const drawn: vscode.TerminalDimensions[] = [{ columns: 80, rows: 24 }];
  pty.onDidOverrideDimensions(({ columns, rows }) => {
    // As VS Code does: what is larger than its place is as large as that, and no news is not told.
    const now = { columns: Math.min(columns, 80), rows: Math.min(rows, 24) };
    const before = drawn.at(-1);
    if (now.columns === before?.columns && now.rows === before.rows) return;
    drawn.push(now);
    pty.setDimensions(now);
  });
  pty.open({ columns: 80, rows: 24 });
  await new Promise((resolve) => setImmediate(resolve));
  stream.emit('snapshot', { bytes: Buffer.alloc(0), position: 0, cols: 80, rows: 24 });
  return { stream, pty, drawn };
}

const OWN = { columns: 80, rows: 24 };
const own = { cols: 80, rows: 24 };
const foreign = { cols: 60, rows: 20 };

describe('a terminal that two windows show', () => {
  it('is drawn in the size of the other, and keeps its own to itself', async () => {
    const { stream, drawn } = await scene();
    stream.emit('resize', foreign);
    expect(drawn.at(-1)).toEqual({ columns: 60, rows: 20 });
    expect(stream.sizes).toEqual([]);
  });

  it.each([
    ['typed in', (pty: SessionPty) => pty.handleInput('a')],
    ['given the focus', (pty: SessionPty) => pty.handleInput('\u001b[I')],
    ['brought to the front', (pty: SessionPty) => pty.claim()],
  ])('has its own size again when it is %s', async (_how, act) => {
    const { stream, pty, drawn } = await scene();
    stream.emit('resize', foreign);
    act(pty);
    expect(stream.sizes[0]).toEqual(own);
    expect(stream.sizes.every((size) => size.cols === own.cols)).toBe(true);
    expect(drawn).toEqual([OWN, { columns: 60, rows: 20 }, OWN]);
  });

  it('takes its own size back from one that is larger than its place', async () => {
    const { stream, pty } = await scene();
    stream.emit('resize', { cols: 120, rows: 40 });
    expect(stream.sizes).toEqual([]);
    pty.handleInput('a');
    expect(stream.sizes[0]).toEqual(own);
  });

  it('stays as the other has it while only a program speaks', async () => {
    const { stream, pty } = await scene();
    stream.emit('resize', foreign);
    pty.handleInput('\u001b[?62c');
    expect(stream.sizes).toEqual([]);
  });

  it('is drawn as large as a screen that replaces what was missed', async () => {
    const { stream, drawn } = await scene();
    stream.emit('snapshot', { bytes: Buffer.alloc(0), position: 9, ...foreign });
    expect(drawn.at(-1)).toEqual({ columns: 60, rows: 20 });
    expect(stream.sizes).toEqual([]);
  });

  it('goes back when the other does, and is resized with its window', async () => {
    const { stream, pty, drawn } = await scene();
    stream.emit('resize', foreign);
    stream.emit('resize', own);
    expect(drawn).toEqual([OWN, { columns: 60, rows: 20 }, OWN]);
    pty.setDimensions({ columns: 90, rows: 30 });
    expect(stream.sizes.at(-1)).toEqual({ cols: 90, rows: 30 });
  });
});

describe('a terminal that is there again', () => {
  it('joins its program once it is seen, in the size that it has then', async () => {
    const opened: unknown[] = [];
    const open = async ({ size }: { size?: Size | undefined }): Promise<never> => {
      opened.push(size);
      return new Stream() as never;
    };
    const pty = new SessionPty(open, 'agent', 'when-seen');
    // The first terminal that is made is VS Code's active one before it is opened, and has its size told twice.
    pty.claim();
    pty.open({ columns: 80, rows: 30 });
    pty.setDimensions({ columns: 80, rows: 30 });
    expect(opened).toEqual([]);
    pty.setDimensions({ columns: 100, rows: 20 });
    pty.setDimensions({ columns: 100, rows: 20 });
    expect(opened).toEqual([{ cols: 100, rows: 20 }]);
  });

  it('starts nothing that sleeps before the person asks for it', () => {
    let count = 0;
    const open = async (): Promise<never> => {
      count += 1;
      return new Stream() as never;
    };
    const pty = new SessionPty(open, 'agent', 'when-asked');
    let text = '';
    pty.onDidWrite((written) => {
      text += written;
    });
    pty.open({ columns: 80, rows: 30 });
    pty.setDimensions({ columns: 100, rows: 20 });
    pty.handleInput('x');
    expect(text).toContain('Press Enter to start the agent again');
    expect(count).toBe(0);
    pty.handleInput('\r');
    expect(count).toBe(1);
  });
});

/** A terminal whose program is joined once the test lets it, or fails as the test says. */
function joining(pane: 'agent' | 'shell' = 'agent') {
  const stream = new Stream();
  let opening = Promise.withResolvers<never>();
  const pty = new SessionPty(() => opening.promise, pane, 'when-asked');
  const shown = { text: '' };
  pty.onDidWrite((written) => {
    shown.text += written;
  });
  pty.open(OWN);
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  return {
    stream,
    pty,
    shown,
    settle,
    join: async () => {
      opening.resolve(stream as never);
      await settle();
    },
    fail: async (error: Error) => {
      const failed = opening;
      opening = Promise.withResolvers<never>();
      failed.reject(error);
      await settle();
    },
  };
}

describe('a terminal whose program is being joined', () => {
  it('says what it waits for, and gives the program what is typed meanwhile', async () => {
    const { stream, pty, shown, settle, join } = joining();
    pty.handleInput('\r');
    await settle();
    expect(shown.text).toContain('Waiting for the agent…');
    for (const key of 'hello') pty.handleInput(key);
    expect(stream.written).toEqual([]);
    await join();
    expect(stream.written.join('')).toBe('hello');
    pty.handleInput('!');
    expect(stream.written.join('')).toBe('hello!');
  });

  it('says so where it was not asked for, only once that takes long', async () => {
    vi.useFakeTimers();
    try {
      const opening = Promise.withResolvers<never>();
      const pty = new SessionPty(() => opening.promise, 'shell');
      let text = '';
      pty.onDidWrite((written) => {
        text += written;
      });
      pty.open(OWN);
      await vi.advanceTimersByTimeAsync(300);
      expect(text).toBe('');
      await vi.advanceTimersByTimeAsync(1_000);
      expect(text).toContain('Waiting for the shell…');
    } finally {
      vi.useRealTimers();
    }
  });

  it('gives an agent no Enter that would say yes to what nobody has seen, and no reply of the terminal', async () => {
    const agent = joining('agent');
    agent.pty.handleInput('\r');
    for (const keys of ['\r', 'x', '\u001b[I', '\u001b[?62c', '\r']) agent.pty.handleInput(keys);
    await agent.join();
    expect(agent.stream.written.join('')).toBe('x');
    const shell = joining('shell');
    shell.pty.handleInput('\r');
    for (const keys of ['ls', '\r']) shell.pty.handleInput(keys);
    await shell.join();
    expect(shell.stream.written.join('')).toBe('ls\r');
  });

  it('forgets what was typed where that fails, and shows what others wrote as text', async () => {
    const { stream, pty, shown, join, fail } = joining();
    pty.handleInput('\r');
    pty.handleInput('lost');
    const hint = 'Look \u001b]0;there\u0007again\u009b31m.';
    await fail(new ExtensionError('git.failed', 'fatal: \u001b[2Jno\r\n\u001b]52;c;eA==\u0007', { hint }));
    const own = /\u001b\[(0m|1m|2m|\?1049l|\?25h)/g;
    expect(shown.text.replaceAll(own, '')).not.toMatch(/[\u001b\u0007\u0080-\u009f]|there/);
    expect(shown.text).toContain('fatal: no');
    pty.handleInput('\r');
    await join();
    expect(stream.written).toEqual([]);
    stream.emit('fault', new Error('too \u001b[5mlong'));
    expect(shown.text).toContain('too long');
  });
});

describe('a terminal whose agent has ended', () => {
  it.each([
    [{ exitCode: 143, signal: null }, 'The agent was stopped.'],
    [{ exitCode: null, signal: 'SIGTERM' }, 'The agent was stopped.'],
    [{ exitCode: 1, signal: null }, 'The agent has ended (exit 1).'],
    [{ exitCode: null, signal: 'SIGKILL' }, 'The agent was ended (SIGKILL).'],
  ])('says whether it was stopped: %o', async (exit, words) => {
    const { stream, pty } = await scene();
    let text = '';
    pty.onDidWrite((written) => {
      text += written;
    });
    stream.emit('exit', exit);
    expect(text).toContain(words);
    expect(text).toContain('Press Enter to start the agent again');
  });
});
