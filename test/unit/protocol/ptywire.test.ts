import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ackFrame,
  dataFrameHeader,
  errorOfFault,
  FrameDecoder,
  FrameType,
  inputFrame,
  jsonFrame,
  MAX_PAYLOAD_BYTES,
  parseJson,
  readAckFrame,
  readDataFrame,
  readSnapshotFrame,
  SizeSchema,
  snapshotFrame,
} from '../../../sidecar/protocol/ptywire.ts';

describe('the wire of the ptyhost', () => {
  it('gives the frames that were sent, however the bytes are cut', () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
    fc.assert(
      fc.property(payloads, fc.array(fc.nat(), { maxLength: 40 }), (sent, places) => {
        const bytes = Buffer.concat(sent.map((payload) => inputFrame(payload)));
        const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
        const decoder = new FrameDecoder();
        const frames = [0, ...at].flatMap((start, index) =>
          decoder.push(bytes.subarray(start, at[index] ?? bytes.length)),
        );
        expect(frames.map((frame) => Buffer.from(frame.payload))).toEqual(
          sent.map((payload) => Buffer.from(payload)),
        );
      }),
    );
  });

  it('carries positions beyond 4 GiB', () => {
    const position = 5 * 2 ** 40 + 123;
    expect(readAckFrame(ackFrame(position).subarray(5))).toBe(position);
    const frame = Buffer.concat([dataFrameHeader(position, 2), Buffer.from('ok')]);
    const [decoded] = new FrameDecoder().push(frame);
    expect(readDataFrame(decoded?.payload ?? Buffer.alloc(0))).toEqual({
      position,
      bytes: Buffer.from('ok'),
    });
  });

  it('refuses a frame that is longer than the limit before it has come', () => {
    const header = Buffer.alloc(5);
    header.writeUInt32BE(MAX_PAYLOAD_BYTES + 1, 0);
    expect(() => new FrameDecoder().push(header)).toThrow(
      expect.objectContaining({ code: 'ptyhost.protocol' }),
    );
  });

  it('ignores fields that a later version added', () => {
    expect(parseJson(SizeSchema, Buffer.from('{"cols":80,"rows":24,"pixels":[1,2]}'))).toEqual({
      cols: 80,
      rows: 24,
    });
  });

  it('refuses JSON that is none, or of another shape', () => {
    const refused = expect.objectContaining({ code: 'ptyhost.protocol' });
    expect(() => parseJson(SizeSchema, Buffer.from('{'))).toThrow(refused);
    expect(() => parseJson(SizeSchema, Buffer.from('{"cols":"80","rows":24}'))).toThrow(refused);
  });

  it('keeps the sentence of an error whose code is not known here', () => {
    const error = errorOfFault({ code: 'terminal.from-the-future', message: 'No.' });
    expect(error).toMatchObject({
      code: 'internal',
      message: 'No.',
      data: { code: 'terminal.from-the-future' },
    });
  });

  it('carries a snapshot with its header', () => {
    const header = { part: 'screen', more: true, reason: 'attach', position: 7, cols: 80, rows: 24 } as const;
    const [frame] = new FrameDecoder().push(snapshotFrame(header, Buffer.from('\u001b[m')));
    expect(frame?.type).toBe(FrameType.snapshot);
    expect(readSnapshotFrame(frame?.payload ?? Buffer.alloc(0))).toEqual({
      header,
      bytes: Buffer.from('\u001b[m'),
    });
  });

  it('writes JSON frames as their recorded bytes', () => {
    expect(jsonFrame(FrameType.hello, { versions: [1], client: 'x' }).toString('latin1')).toBe(
      '\u0000\u0000\u0000\u001d\u0001{"versions":[1],"client":"x"}',
    );
    expect(ackFrame(258).toString('hex')).toBe('00000008430000000000000102');
  });
});
