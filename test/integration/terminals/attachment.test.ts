import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Attachment } from '../../../sidecar/protocol/attachment.ts';
import { FrameType, jsonFrame } from '../../../sidecar/protocol/ptywire.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { Emulator, PtyHostHarness, shell, Watched } from '../../support/ptyhost.ts';
import { terminalState } from '../../support/terminal-state.ts';

let home: PtyHostHarness;
let client: PtyHostClient;
const folder = mkdtempSync(join(tmpdir(), 'fl-att-'));

beforeAll(async () => {
  home = new PtyHostHarness();
  client = await home.client();
});
afterAll(async () => {
  await home.end();
  rmSync(folder, { recursive: true, force: true });
});

const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 25_000, interval: 5 });

async function infoOf(id: string) {
  const terminal = (await client.request('list', {})).terminals.find((one) => one.id === id);
  if (terminal === undefined) throw new Error('no such terminal');
  return terminal;
}

/** Waits until an emulator shows everything that the terminal has put out. */
async function caughtUp(emulator: Emulator, attachment: Attachment, position: number): Promise<void> {
  await until(() => expect(attachment.position).toBe(position));
  await emulator.settled();
}

const piece = fc.oneof(
  fc.stringMatching(/^[ -~]{1,40}$/),
  fc.constantFrom('\r\n', '\r\n', '\n', '\t', '漢字かな', 'é', '😀 ', '─│'),
  fc
    .tuple(fc.nat(10), fc.nat(20), fc.constantFrom('A', 'B', 'C', 'D', 'H', 'K', 'X', 'P', '@', 'L', 'M'))
    .map(([a, b, final]) =>
      final === 'H' ? `\u001b[${a};${b}H` : final === 'K' ? `\u001b[${a % 3}K` : `\u001b[${a}${final}`,
    ),
  fc.constantFrom('0', '1', '4', '7', '31', '42', '38;5;200', '48;2;1;2;3').map((sgr) => `\u001b[${sgr}m`),
  fc.constantFrom(
    '\u001b7',
    '\u001b8',
    '\u001b[?1049h',
    '\u001b[?1049l',
    '\u001b[?25l',
    '\u001b[?2004h',
    '\u001b[2;5r',
    '\u001b[r',
    '\u001b]0;title\u0007',
    '\u001b]7501;state=working:app=x\u001b\\',
    '\u001b]7501;state=done\u0007',
  ),
);

describe('attaching at random', () => {
  it('shows what a client that was never detached shows, cell by cell', async () => {
    const rowsKept = 40;
    const steps = fc.record({
      output: fc.array(piece, { minLength: 20, maxLength: 120 }).map((pieces) => pieces.join('')),
      cuts: fc.array(fc.nat(), { minLength: 3, maxLength: 8 }),
      attachBefore: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(steps, async ({ output, cuts, attachBefore }) => {
        run += 1;
        const bytes = Buffer.from(output);
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const chunks = [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
        const files = join(folder, String(run));
        mkdirSync(files);
        for (const [index, chunk] of chunks.entries()) writeFileSync(join(files, String(index)), chunk);
        const create = shell(
          `stty raw -echo; i=0; printf R; while [ $i -lt ${chunks.length} ]; do head -c 1 >/dev/null; cat ${files}/$i; i=$((i+1)); done; head -c 1 >/dev/null`,
          { cols: 30, rows: 8, rowsKept },
        );
        await client.request('create', create);
        const options = { manualAck: true, scrollback: rowsKept };
        const watching = await home.attach(client, create.id, options);
        const reference = new Emulator(watching, rowsKept);
        const seen = new Watched(watching);
        await until(() => expect(seen.text + (seen.snapshots[0]?.text ?? '')).toContain('R'));
        let joining: Attachment | undefined;
        let joined: Emulator | undefined;
        for (const [index] of chunks.entries()) {
          if (attachBefore[index % attachBefore.length] || joined === undefined) {
            joining?.detach();
            joining = await home.attach(client, create.id, options);
            joined = new Emulator(joining, rowsKept);
          }
          watching.write('x');
          // The program writes its next chunk and waits for the next key: nothing more comes by itself.
          const expected = 1 + withoutReports(Buffer.concat(chunks.slice(0, index + 1)));
          await until(async () => expect((await infoOf(create.id)).position).toBe(expected));
        }
        const { position } = await infoOf(create.id);
        await caughtUp(reference, watching, position);
        if (joining === undefined || joined === undefined) throw new Error('never attached');
        await caughtUp(joined, joining, position);
        const states = [terminalState(joined.terminal), terminalState(reference.terminal)];
        watching.detach();
        joining.detach();
        await client.request('kill', { id: create.id, signal: 'SIGKILL' });
        expect(states[0]).toEqual(states[1]);
      }),
      { numRuns: Number(process.env.FAIRLEAD_RUNS ?? 25), endOnFailure: true },
    );
  }, 120_000);
});

/** Bytes of `output` that clients get: complete reports and one that is still open are left out. */
function withoutReports(output: Buffer): number {
  const text = output.toString('latin1').replace(/\u001b\]7501;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '');
  const open = /\u001b\]7501;[^\u0007\u001b]*\u001b?$/.exec(text)?.[0].length ?? 0;
  // The beginning of what may become a report is withheld, and the first byte of what may be a C1 control.
  const begun = /(?:\u001b(?:\](?:7(?:5(?:0(?:1)?)?)?)?)?|\u00c2)$/.exec(text)?.[0].length ?? 0;
  return text.length - Math.max(open, begun);
}

describe('several clients of one terminal', () => {
  it('all see everything, and each can type', async () => {
    const create = shell('stty -echo; while read line; do echo "got $line"; done');
    await client.request('create', create);
    const first = new Watched(await home.attach(client, create.id));
    const second = new Watched(await home.attach(client, create.id));
    first.attachment.write('from the first\n');
    await until(() => expect(second.text).toContain('got from the first'));
    second.attachment.write('from the second\n');
    await until(() => expect(first.text).toContain('got from the second'));
    expect((await infoOf(create.id)).clients).toBe(2);
    first.attachment.detach();
    second.attachment.write('alone\n');
    await until(() => expect(second.text).toContain('got alone'));
    await until(async () => expect((await infoOf(create.id)).clients).toBe(1));
  });

  it('are told a new size at its place in the output, and so is the program', async () => {
    const create = shell('trap "stty size" WINCH; read go; echo ready; while :; do sleep 0.01; done');
    await client.request('create', create);
    const first = new Watched(await home.attach(client, create.id));
    first.attachment.write('\n');
    await until(() => expect(first.text).toContain('ready'));
    const sizes: unknown[] = [];
    const second = await home.attach(client, create.id);
    second.on('resize', (size) => sizes.push(size));
    first.attachment.resize({ cols: 101, rows: 31 });
    await until(() => expect(sizes).toEqual([{ cols: 101, rows: 31 }]));
    await until(() => expect(first.text).toContain('31 101'));
    expect(await infoOf(create.id)).toMatchObject({ cols: 101, rows: 31 });
    await client.request('kill', { id: create.id });
  });

  it('get the screen in their own size, also where the program draws nothing anew', async () => {
    const create = shell('echo first; read x', { cols: 120, rows: 40 });
    await client.request('create', create);
    await until(async () => expect((await infoOf(create.id)).position).toBeGreaterThan(0));
    const sizes: unknown[] = [];
    const small = await home.attach(client, create.id, { size: { cols: 90, rows: 25 } });
    small.on('snapshot', ({ cols, rows }) => sizes.push({ cols, rows }));
    small.on('resize', (size) => sizes.push(size));
    const emulator = new Emulator(small, 100);
    await until(() => expect(sizes).toHaveLength(1));
    await caughtUp(emulator, small, (await infoOf(create.id)).position);
    expect(sizes).toEqual([{ cols: 90, rows: 25 }]);
    expect(emulator.terminal.buffer.active.getLine(0)?.translateToString(true)).toBe('first');
    expect(emulator.terminal.buffer.active.baseY).toBe(0);
    small.detach();
    await client.request('kill', { id: create.id });
  });

  it('do not wait for one that acknowledges nothing, and that one is given a snapshot when it comes back', async () => {
    const create = shell('read go; seq 1 600000; echo end; read x', { rowsKept: 100 });
    await client.request('create', create);
    const slow = await home.attach(client, create.id, { manualAck: true, scrollback: 100 });
    const slowSeen = new Watched(slow);
    const fast = await home.attach(client, create.id);
    const fastSeen = new Watched(fast);
    fast.write('\n');
    await until(() => expect(fastSeen.text.endsWith('end\r\n')).toBe(true));
    // Everything, and no snapshot but the first.
    expect(fastSeen.text.match(/^\d+(?=\r$)/gm)?.length).toBe(600_000);
    expect(fastSeen.snapshots.every((snapshot) => snapshot.reason === 'attach')).toBe(true);
    expect(slow.position).toBeLessThan(1_000_000);
    slow.processed(slow.position);
    await until(() => expect(slowSeen.snapshots.some((snapshot) => snapshot.reason === 'lag')).toBe(true));
    await until(() => expect(slow.position).toBe(fast.position));
    const lag = slowSeen.snapshots.filter((snapshot) => snapshot.reason === 'lag');
    expect(lag.at(-1)?.part).toBe('whole');
    expect(lag.at(-1)?.text).toContain('599999\r\n600000\r\nend');
    await client.request('kill', { id: create.id });
  });

  it('do not wait for one that never reads its socket', async () => {
    const create = shell('read go; seq 1 600000; echo end; read x');
    await client.request('create', create);
    const { ticket } = await client.request('ticket', { id: create.id });
    const deaf = await home.socket();
    deaf.pause();
    deaf.write(jsonFrame(FrameType.hello, { versions: [1], client: 'deaf' }));
    deaf.write(jsonFrame(FrameType.attach, { ticket }));
    await until(async () => expect((await infoOf(create.id)).clients).toBe(1));
    const fast = new Watched(await home.attach(client, create.id));
    fast.attachment.write('\n');
    await until(() => expect(fast.text.endsWith('end\r\n')).toBe(true));
    deaf.destroy();
    await client.request('kill', { id: create.id });
  });
});

describe('a flood', () => {
  it('stops at once when its viewer types ^C', async () => {
    const create = shell('trap "echo; echo stopped; exit 0" INT; while :; do seq 1 1000; done');
    await client.request('create', create);
    const watched = new Watched(await home.attach(client, create.id));
    await until(() => expect(watched.attachment.position).toBeGreaterThan(1_000_000));
    watched.attachment.write('\u0003');
    const before = watched.attachment.position;
    await until(() => expect(watched.exit).toBeDefined());
    expect(watched.text.endsWith('stopped\r\n')).toBe(true);
    // No more was on its way than windows, the kernel's buffer and one loop of the program hold.
    expect(watched.attachment.position - before).toBeLessThan(4_000_000);
  });

  it('never stops for a viewer that acknowledges in steps of an eighth of its window', async () => {
    const create = shell('read go; seq 1 600000; echo end; read x');
    await client.request('create', create);
    const window = 512 * 1024;
    const viewer = await home.attach(client, create.id, { manualAck: true, window });
    const seen = new Watched(viewer);
    let acknowledged = 0;
    viewer.on('data', (bytes, position) => {
      const end = position + bytes.length;
      if (end - acknowledged < window / 8) return;
      acknowledged = end;
      // Later than it came, as from a screen: by then the window may be full.
      setTimeout(() => viewer.processed(end), 30);
    });
    viewer.write('\n');
    await until(() => expect(seen.text.endsWith('end\r\n')).toBe(true));
    expect(seen.snapshots.every((snapshot) => snapshot.reason === 'attach')).toBe(true);
    await client.request('kill', { id: create.id });
  });

  it('that nobody watches stays within bounds of memory, and its end is on the screen', async () => {
    const own = new PtyHostHarness();
    try {
      const control = await own.client();
      const rss = () =>
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${control.host.pid}/status`, 'utf8'))?.[1]) * 1024;
      const create = shell('i=0; while [ $i -lt 6 ]; do seq 1 1000000; i=$((i+1)); done; echo end; read x');
      await control.request('create', create);
      let most = 0;
      await until(async () => {
        most = Math.max(most, rss());
        expect((await control.request('screen', { id: create.id })).text).toContain('end');
      });
      expect(most).toBeLessThan(300 * 1024 * 1024);
    } finally {
      await own.end();
    }
  });

  it('can be attached to in its midst, without a gap from there on', async () => {
    const enough = join(folder, 'enough');
    const create = shell(`while [ ! -e ${enough} ]; do seq 1 1000; done; echo end; read x`);
    await client.request('create', create);
    await until(async () => expect((await infoOf(create.id)).position).toBeGreaterThan(500_000));
    const watched = new Watched(await home.attach(client, create.id, { scrollback: 0 }));
    await until(() => expect(watched.text.length).toBeGreaterThan(500_000));
    writeFileSync(enough, '');
    await until(() => expect(watched.text.endsWith('end\r\n')).toBe(true));
    // A gap would have ended the connection: the client compares positions. What came is whole as well.
    expect(watched.lost).toBe(false);
    expect(watched.snapshots).toHaveLength(1);
    const numbers = (watched.text.match(/^\d+(?=\r$)/gm) ?? []).slice(1).map(Number);
    expect(
      numbers.every((number, index) => index === 0 || number === ((numbers[index - 1] ?? 0) % 1000) + 1),
    ).toBe(true);
    await client.request('kill', { id: create.id });
  });
});

describe('the end of a terminal', () => {
  it('is told to who attaches afterwards, behind the last screen', async () => {
    const create = shell('echo last words; exit 5');
    await client.request('create', create);
    await until(async () => expect((await infoOf(create.id)).exited).toBeDefined());
    const watched = new Watched(await home.attach(client, create.id));
    await until(() => expect(watched.exit).toEqual({ exitCode: 5, signal: null }));
    expect(watched.snapshots[0]?.text).toContain('last words');
  });

  it('by kill -9 of the ptyhost is a lost connection, and its programs hang up', async () => {
    const own = new PtyHostHarness();
    try {
      const control = await own.client();
      const create = shell('read x');
      const { terminal } = await control.request('create', create);
      const watched = new Watched(await own.attach(control, create.id));
      process.kill(control.host.pid, 'SIGKILL');
      await until(() => expect(watched.lost).toBe(true));
      await until(() => expect(control.lost).toBe(true));
      await expect(control.request('list', {})).rejects.toMatchObject({ code: 'ptyhost.lost' });
      await until(() => expect(() => process.kill(terminal.pid, 0)).toThrow());
    } finally {
      await own.end();
    }
  });
});

describe('raw output on the disk', () => {
  it('goes back further than the kept rows', async () => {
    const create = shell('seq 1 50000; read x', { rowsKept: 0 });
    await client.request('create', create);
    await until(async () =>
      expect((await client.request('screen', { id: create.id })).text).toContain('50000'),
    );
    const { position } = await infoOf(create.id);
    const { start, data } = await client.request('scrollback', { id: create.id, before: 48, bytes: 1_000 });
    expect([start, Buffer.from(data, 'base64').toString()]).toEqual([
      0,
      '1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n11\r\n12\r\n13\r\n14\r\n1',
    ]);
    const all = await client.request('scrollback', { id: create.id, bytes: 1024 * 1024 });
    expect(all.start + Buffer.from(all.data, 'base64').length).toBe(position);
    expect(Buffer.from(all.data, 'base64').toString()).toMatch(/49999\r\n50000\r\n$/);
    await client.request('kill', { id: create.id });
  });
});
