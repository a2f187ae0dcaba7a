import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { sleep } from '../../platform/clock.ts';
import { tryConnect } from '../../platform/daemon-process.ts';
import { pathsFor } from '../../platform/paths.ts';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import { age } from '../../protocol/wording.ts';
import * as z from '../../protocol/zod.ts';
import type { Act } from '../act.ts';
import { count, examples } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { inspectWithoutSidecar } from '../doctor.ts';
import { fleetTable } from '../fleet-table.ts';
import { type Output, printable, table } from '../output.ts';
import type { SidecarConnection } from '../sidecar-connection.ts';

/** Commands about Fairlead itself. */
export function addSidecarCommands(program: Command, act: Act): void {
  program
    .command('up')
    .description('start the sidecar when it does not run')
    .addHelpText(
      'after',
      '\nNearly every command starts it by itself, those that only look included;\n' +
        'status, down and logs do not. It ends by itself when nothing is to be done.',
    )
    .action(act(up));
  program
    .command('down')
    .description('end the sidecar; agents go on')
    .option('--all', 'end every agent and terminal too', false)
    .addHelpText('after', examples('down', 'down --all'))
    .action(act(down));
  program
    .command('status')
    .description('what runs where')
    .addHelpText('after', examples('status'))
    .action(act(status));
  program
    .command('doctor')
    .description('what Fairlead needs, and whether it is there')
    .addHelpText('after', examples('doctor'))
    .action(act(doctor));
  program
    .command('logs')
    .description("the sidecar's log")
    .option('-n, --lines <n>', 'how many of its last lines', count('--lines'), 100)
    .option('--ptyhost', 'the log of the ptyhost instead', false)
    .option('--path', 'where the log is, instead of what it says', false)
    .addHelpText('after', examples('logs -n 20', 'logs --ptyhost', 'logs --path'))
    .action(act(logs));
  program
    .command('events')
    .description('what happened in the fleet')
    .option('--follow', 'go on until interrupted', false)
    .option('--after <seq>', 'only events after this number', count('--after'), 0)
    .addHelpText('after', examples('events --follow', 'events --json --after 120'))
    .action(act(events));
}

async function up(context: CommandContext): Promise<void> {
  const sidecar = await context.sidecar();
  const { sidecarSocket } = pathsFor(context.environment);
  context.output.result(
    { ...sidecar.info, socket: sidecarSocket },
    (info) => `Fairlead ${info.version} runs (pid ${info.pid}).`,
  );
}

async function down(context: CommandContext, options: { all: boolean }): Promise<void> {
  const paths = pathsFor(context.environment);
  let sidecar = await context.runningSidecar({ anyVersion: true });
  const ran = sidecar !== undefined;
  // Agents live on in the ptyhost; to end them takes a sidecar, which knows whose they are.
  if (sidecar === undefined && options.all && (await isServed(paths.ptyhostSocket))) {
    sidecar = await context.sidecar();
  }
  if (sidecar === undefined) {
    const left = await isServed(paths.ptyhostSocket);
    context.output.result({ stopped: false, running: 0, ended: 0 }, () =>
      left
        ? 'The sidecar does not run. Terminals go on; `fairlead down --all` ends them.'
        : 'The sidecar does not run.',
    );
    return;
  }
  sidecar.onNotification(protocol.SidecarEnding, ({ waitsFor }) => {
    if (waitsFor.length > 0) context.output.note(`Waiting for ${waitsFor.map(printable).join(', and ')}…`);
  });
  const answer = await sidecar.request(protocol.StopSidecar, { terminals: options.all }, context.signal);
  try {
    await sidecar.ended(context.signal);
  } catch (error) {
    context.output.note('The sidecar takes nobody in, and ends as soon as that is done.');
    throw error;
  }
  const { orphans, ...told } = answer;
  // One that was started for this has ended them on the way.
  const ended = told.ended + (ran || !options.all ? 0 : orphans);
  context.output.result({ ...told, ended }, ({ running }) => {
    if (options.all) {
      const agents = ended === 0 ? 'no agent' : ended === 1 ? 'one agent' : `${ended} agents`;
      return `The sidecar has ended, and ${agents} with it.`;
    }
    if (running === 0) return 'The sidecar has ended.';
    return `The sidecar has ended; ${running === 1 ? 'one terminal goes' : `${running} terminals go`} on.`;
  });
}

async function isServed(socket: string): Promise<boolean> {
  const connection = await tryConnect(socket).catch(() => undefined);
  connection?.destroy();
  return connection !== undefined;
}

async function status(context: CommandContext): Promise<void> {
  const { home, sidecarSocket: socket } = pathsFor(context.environment);
  const sidecar = await context.runningSidecar();
  if (sidecar === undefined) {
    context.output.result(
      { sidecar: null, ptyhost: null, home, socket },
      () => `The sidecar does not run (${home}).`,
    );
    return;
  }
  const found = await sidecar.request(protocol.Status, {});
  const sessions = context.output.json ? [] : await sidecar.request(protocol.ListSessions, {});
  context.output.result({ ...found, socket }, () => {
    const megabytes = (bytes: number | null) =>
      bytes === null ? '?' : `${Math.round(bytes / 1_048_576)} MB`;
    const now = context.now();
    const rows = [
      [
        'sidecar',
        String(found.sidecar.pid),
        megabytes(found.sidecar.memoryBytes),
        age(found.sidecar.startedAt, now),
      ],
      ...(found.ptyhost === null
        ? []
        : [['ptyhost', String(found.ptyhost.pid), megabytes(found.ptyhost.memoryBytes), '']]),
      ...found.terminals.map((terminal) => [
        `${terminal.pane} of ${terminal.session ?? '?'}`,
        String(terminal.pid),
        terminal.running ? 'running' : 'ended',
        age(terminal.startedAt, now),
      ]),
    ];
    const fault = found.ptyhostFault === null ? '' : `${found.ptyhostFault}\n\n`;
    const fleet = sessions.length === 0 ? 'No session.' : fleetTable(sessions, context.output, now);
    return `${table(['PROCESS', 'PID', 'MEMORY', 'AGE'], rows, context.output.width)}\n\n${fault}${fleet}`;
  });
}

async function doctor(context: CommandContext): Promise<void> {
  const findings = await context.sidecar().then(
    (sidecar) => sidecar.request(protocol.Doctor, { folder: context.folder }),
    (error: unknown) => inspectWithoutSidecar(context, error),
  );
  context.output.result(findings, (list) =>
    list.map((each) => findingLines(each, context.output)).join('\n'),
  );
  if (findings.some(({ state }) => state === 'problem')) process.exitCode = 1;
}

const MARK = { ok: ['green', 'ok'], warning: ['yellow', 'warn'], problem: ['red', 'fail'] } as const;

/** One line for what was found, and one for what to do about it. */
function findingLines({ check, state, found, hint }: protocol.Finding, output: Output): string {
  const [style, word] = MARK[state];
  const indent = ' '.repeat(18);
  const line = `${output.paint(style, word.padEnd(5))} ${check.padEnd(11)} ${printable(found).replaceAll('\n', `\n${indent}`)}`;
  return hint === null ? line : `${line}\n${indent}${output.paint('dim', printable(hint))}`;
}

async function logs(
  context: CommandContext,
  options: { lines: number; ptyhost: boolean; path: boolean },
): Promise<void> {
  const name = options.ptyhost ? 'ptyhost' : 'sidecar';
  const file = join(pathsFor(context.environment).logs, `${name}.log`);
  if (options.path) {
    context.output.result({ file }, () => file);
    return;
  }
  const lines = lastLines(file, options.lines);
  if (lines === undefined) context.output.note(`There is no log yet (${file}).`);
  else context.output.line(lines.map((line) => (context.output.json ? line : logLine(line))).join('\n'));
}

/** The last lines of the log and, where that is too short, of the one before it; undefined when there is none. */
function lastLines(file: string, count: number): string[] | undefined {
  const parts = [`${file}.1`, file].map((each) => {
    try {
      return readFileSync(each, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch {
      return undefined;
    }
  });
  if (parts.every((part) => part === undefined)) return undefined;
  return parts.flatMap((part) => part ?? []).slice(-count);
}

const LogLine = z.looseObject({ at: z.string(), level: z.string(), event: z.string() });

/** As people read it: time, level, what happened, and the rest as it is. */
function logLine(line: string): string {
  try {
    const { at, level, event, source: _, ...fields } = LogLine.parse(JSON.parse(line));
    const rest = Object.entries(fields).map(([name, value]) =>
      typeof value === 'string' && !/\s/.test(value)
        ? `${name}=${value}`
        : `${name}=${JSON.stringify(value)}`,
    );
    return printable([at, level.padEnd(5), event, ...rest].join('  '));
  } catch {
    return printable(line);
  }
}

async function events(context: CommandContext, options: { follow: boolean; after: number }): Promise<void> {
  const sidecar = await context.sidecar();
  const print = (event: protocol.FleetEvent) =>
    context.output.line(
      context.output.json
        ? JSON.stringify(event)
        : `${new Date(event.at).toISOString()}  ${event.session}  ${event.kind.padEnd(16)} ${printable(event.message)}`,
    );
  if (!options.follow) {
    const { events } = await sidecar.request(protocol.FollowEvents, { after: options.after, follow: false });
    for (const event of events) print(event);
    if (events.length === 0 && !context.output.json) context.output.note('Nothing has happened yet.');
    return;
  }
  let last = options.after;
  for (let at: SidecarConnection | undefined = sidecar; at !== undefined; at = await reconnect(context)) {
    last = await follow(context, at, last, print);
    if (context.signal.aborted) break;
  }
  if (context.signal.aborted) throw new FairleadError('cancelled', 'Cancelled.');
  throw new FairleadError('daemon.lost', 'The sidecar ended.', {
    hint: `Follow again: fairlead events --follow --after ${last}`,
  });
}

/**
 * Tells every event after `after`, each once and in order, until the connection ends. Gives the number of the last.
 * Who reads too slowly is let go, and finds with the next connection what it missed.
 */
async function follow(
  context: CommandContext,
  sidecar: SidecarConnection,
  after: number,
  print: (event: protocol.FleetEvent) => void,
): Promise<number> {
  let last = after;
  let early: protocol.FleetEvent[] | undefined = [];
  const tell = (event: protocol.FleetEvent) => {
    if (event.seq <= last) return;
    const missed = event.seq - last - 1;
    if (last > 0 && missed > 0) context.output.note(`${missed} events are not kept any more.`);
    last = event.seq;
    print(event);
  };
  sidecar.onNotification(protocol.EventHappened, (event) => {
    if (early === undefined) tell(event);
    else early.push(event);
  });
  try {
    const { events } = await sidecar.request(protocol.FollowEvents, { after, follow: true });
    for (const event of [...events, ...early]) tell(event);
    early = undefined;
    await Promise.race([sidecar.ended(), aborted(context.signal)]);
  } catch (error) {
    if (!(error instanceof FairleadError && error.code === 'daemon.lost')) throw error;
  }
  return last;
}

/** How long another sidecar is waited for, in milliseconds: one that is replaced, or was killed and is started again. */
const BACK_WITHIN_MS = 5_000;

/** A new connection to the sidecar, which may be another by now. Starts none: it may have been ended on purpose. */
async function reconnect(context: CommandContext): Promise<SidecarConnection | undefined> {
  for (let waited = 0; waited <= BACK_WITHIN_MS && !context.signal.aborted; waited += 100) {
    const sidecar = await context.runningSidecar().catch((error: unknown) => {
      if (error instanceof FairleadError && error.code === 'daemon.lost') return undefined;
      throw error;
    });
    if (sidecar !== undefined) return sidecar;
    await sleep(100);
  }
  return undefined;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
