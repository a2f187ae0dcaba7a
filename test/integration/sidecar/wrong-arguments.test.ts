import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

/** Words of a schema, not of a person. */
const RAW =
  /expected (string|number|int)|received|invalid (input|option)|too (small|big)|zod|→|✖|undefined|\bNaN\b|\[object/i;

const ODD = [
  '',
  ' ',
  '\n',
  'a\nb',
  '\t',
  'x'.repeat(10_000),
  '日本語🎉',
  '\u200b',
  '-',
  "'; rm",
  '../..',
  '%',
  '*',
];

const NUMBERS = [
  '',
  ' ',
  '-1',
  '0',
  'NaN',
  'Infinity',
  '1e9',
  '0x10',
  '1,5',
  '1e400',
  '99999999999999999999',
  'x',
];

describe('a wrong argument', { timeout: 300_000 }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  let id: string;
  beforeAll(async () => {
    repository = TestRepository.with();
    fairlead = new SidecarHarness(repository.environment);
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
      cwd: repository.folder,
    });
    id = made.session.id;
  });
  afterAll(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });

  /** Told as wrong usage, or as something that is not there, in words for people, both ways. */
  const isTold = async (...args: string[]) => {
    const { code, stdout, stderr } = await fairlead.run(['--json', ...args], { cwd: repository.folder });
    const what = args.map((each) => each.slice(0, 20));
    expect([what, code, stdout]).toEqual([what, expect.toSatisfy((exit) => exit === 2 || exit === 3), '']);
    const { error } = JSON.parse(stderr);
    expect([what, error.message]).toEqual([what, expect.stringMatching(/[.!?)]$/)]);
    expect([what, error.message]).not.toEqual([what, expect.stringMatching(RAW)]);
    expect([what, error.hint]).toEqual([what, expect.stringMatching(/\w/)]);
    expect(error.message.length).toBeLessThan(500);
  };
  const all = async (lines: readonly (readonly string[])[]) => {
    for (let at = 0; at < lines.length; at += 4) {
      await Promise.all(lines.slice(at, at + 4).map((args) => isTold(...args)));
    }
  };

  it('for a session is told by every command that takes one', async () => {
    const commands = [
      ['show'],
      ['send', '', 'text'],
      ['answer', '', 'allow'],
      ['interrupt'],
      ['wait'],
      ['log'],
      ['rename', '', 'Title'],
      ['resume'],
      ['stop'],
      ['archive'],
      ['land'],
      ['unqueue'],
      ['diff'],
      ['cost'],
    ];
    await all(
      commands.flatMap(([name = '', _, ...rest]) => ['', 'nobody'].map((odd) => [name, odd, ...rest])),
    );
    await all(ODD.map((odd) => ['show', odd]));
    await all([
      ['show', '--', '--json'],
      ['show', '--', '-x'],
      ['show'],
      ['diff', id, ''],
      ['land', id, '--after', ''],
    ]);
  });

  it('for a number or a day is told', async () => {
    await all(NUMBERS.filter((odd) => odd !== '1e9').map((odd) => ['wait', id, '--timeout', odd]));
    await all(NUMBERS.filter((odd) => odd !== '0').map((odd) => ['events', '--after', odd]));
    await all(NUMBERS.filter((odd) => odd !== '0').map((odd) => ['logs', '--lines', odd]));
    await all(NUMBERS.map((odd) => ['new', '--no-start', 'Work', '--attempts', odd]));
    await all(
      ['', ' ', 'yesterday', '2026-02-30', '2026-13-01', '26-01-01', '2026-01-01T00:00'].map((odd) => [
        'cost',
        '--since',
        odd,
      ]),
    );
  });

  it('for a text or a name is told', async () => {
    const empty = ['', ' ', '\n'];
    await all(empty.map((odd) => ['new', odd]));
    await all(empty.map((odd) => ['send', id, odd]));
    await all(empty.map((odd) => ['answer', id, odd]));
    await all([...empty, 'x'.repeat(10_000), '\u200b'].map((odd) => ['rename', id, odd]));
    for (const option of ['--title', '--base', '--model', '--agent', '--key']) {
      await all([...empty, 'x'.repeat(10_000)].map((odd) => ['new', '--no-start', 'Work', option, odd]));
    }
    for (const option of ['--check', '--to', '--method']) {
      await all(empty.map((odd) => ['land', id, option, odd]));
    }
    await all([
      ['new', '--no-start', 'Work', '--mode', 'root'],
      ['new', '--no-start', 'Work', '--key', 'a b'],
      ['new', '--no-start', 'Work', '--base', 'nowhere'],
      ['wait', id, '--for', 'ever'],
      ['cost', '--by', 'moon'],
      ['attach', id, '--pane', 'window'],
      ['attach', id],
      ['show', id, 'more'],
      ['nothing'],
      [],
    ]);
    expect(await fairlead.json<Session[]>(['ls'])).toHaveLength(1);
  });

  it('is told before a sidecar is started for it', async () => {
    await using other = new SidecarHarness(repository.environment);
    expect(await other.error(['show', ''])).toMatchObject({ code: 'usage', exit: 2 });
    expect(await other.json(['status'])).toMatchObject({ sidecar: null });
  });
});
