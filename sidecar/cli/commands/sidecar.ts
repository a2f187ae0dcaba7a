import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { pathsFor } from '../../platform/paths.ts';
import * as protocol from '../../protocol/protocol.ts';
import type { Act } from '../act.ts';
import type { CommandContext } from '../context.ts';
import { inspectWithoutSidecar } from '../doctor.ts';
import { age, printable, table } from '../output.ts';
import { fleetTable } from './sessions.ts';

/** Commands about Fairlead itself. */
export function addSidecarCommands(program: Command, act: Act): void {
  program.command('up').description('start the sidecar when it does not run').action(act(up));
  program
    .command('down')
    .description('end the sidecar; agents go on')
    .option('--all', 'end every agent and terminal too', false)
    .action(act(down));
  program.command('status').description('what runs where').action(act(status));
  program.command('doctor').description('what Fairlead needs, and whether it is there').action(act(doctor));
  program
    .command('logs')
    .description("the sidecar's log")
    .option('-n, --lines <n>', 'how many lines', '100')
    .action(act(logs));
  program
    .command('events')
    .description('what happened in the fleet')
    .option('--follow', 'go on until interrupted', false)
    .option('--after <seq>', 'only events after this number', '0')
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
  const sidecar = await context.runningSidecar();
  if (sidecar === undefined) {
    context.output.result({ stopped: false, running: 0 }, () => 'The sidecar does not run.');
    return;
  }
  const answer = await sidecar.request(protocol.StopSidecar, { terminals: options.all });
  await sidecar.ended();
  context.output.result(answer, ({ running }) =>
    running === 0 ? 'The sidecar has ended.' : `The sidecar has ended; ${running} terminals go on.`,
  );
}

async function status(context: CommandContext): Promise<void> {
  const sidecar = await context.runningSidecar();
  if (sidecar === undefined) {
    const { home } = pathsFor(context.environment);
    context.output.result(
      { sidecar: null, ptyhost: null, home },
      () => `The sidecar does not run (${home}).`,
    );
    return;
  }
  const found = await sidecar.request(protocol.Status, {});
  const sessions = context.output.json ? [] : await sidecar.request(protocol.ListSessions, {});
  context.output.result(found, () => {
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
    const fleet = sessions.length === 0 ? 'No session.' : fleetTable(sessions, context.output, now);
    return `${table(['PROCESS', 'PID', 'MEMORY', 'AGE'], rows, context.output.width)}\n\n${fleet}`;
  });
}

async function doctor(context: CommandContext): Promise<void> {
  const sidecar = await context.sidecar().catch((error: unknown) => error);
  const findings =
    sidecar instanceof Error
      ? inspectWithoutSidecar(sidecar)
      : await (sidecar as Awaited<ReturnType<CommandContext['sidecar']>>).request(protocol.Doctor, {
          folder: context.folder,
        });
  context.output.result(findings, (list) => {
    const mark = { ok: ['green', 'ok'], warning: ['yellow', 'warn'], problem: ['red', 'fail'] } as const;
    return list
      .map(({ check, state, found, hint }) => {
        const [style, word] = mark[state];
        const line = `${context.output.paint(style, word.padEnd(5))}${check.padEnd(18)}${printable(found)}`;
        return hint === null
          ? line
          : `${line}\n${' '.repeat(23)}${context.output.paint('dim', printable(hint))}`;
      })
      .join('\n');
  });
  if (findings.some(({ state }) => state === 'problem')) process.exitCode = 1;
}

async function logs(context: CommandContext, options: { lines: string }): Promise<void> {
  const file = join(pathsFor(context.environment).logs, 'sidecar.log');
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    context.output.note(`There is no log yet (${file}).`);
  }
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-Math.max(1, Number(options.lines) || 100));
  context.output.line(lines.join('\n'));
}

async function events(context: CommandContext, options: { follow: boolean; after: string }): Promise<void> {
  const sidecar = await context.sidecar();
  const print = (event: protocol.FleetEvent) =>
    context.output.line(
      context.output.json
        ? JSON.stringify(event)
        : `${new Date(event.at).toISOString()}  ${event.session}  ${event.kind.padEnd(16)} ${printable(event.message)}`,
    );
  if (options.follow) sidecar.onNotification(protocol.EventHappened, print);
  const past = await sidecar.request(protocol.FollowEvents, {
    after: Number(options.after) || 0,
    follow: options.follow,
  });
  for (const event of past.events) print(event);
  if (options.follow) await Promise.race([sidecar.ended(), aborted(context.signal)]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
