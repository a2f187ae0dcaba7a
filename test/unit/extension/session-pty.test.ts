import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
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
