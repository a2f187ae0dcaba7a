import { connect } from 'node:net';
import { type Command, Option } from 'commander';
import { BUILD } from '../../platform/build.ts';
import { quoteWord } from '../../platform/shell.ts';
import { Attachment } from '../../protocol/attachment.ts';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import type { Act } from '../act.ts';
import { examples, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { printable } from '../output.ts';
import { holdTerminal } from '../raw-terminal.ts';

/** Commands that speak bytes, and the one that git and ssh call. */
export function addTerminalCommands(program: Command, act: Act): void {
  program
    .command('attach')
    .description('show the terminal of a session; Ctrl-\\ leaves it, the agent goes on')
    .addArgument(sessionArgument())
    .addOption(new Option('--pane <pane>', 'which terminal').choices(protocol.Pane.options).default('agent'))
    .addHelpText('after', examples('attach k3f9', 'attach k3f9 --pane shell'))
    .action(act(attach));
  program.command('askpass', { hidden: true }).argument('<question>').action(act(askpass));
}

/**
 * Ctrl-\ : a key that agents and shells do not use. As the plain byte, and as terminals send it once the program has
 * asked for unambiguous keys (kitty keyboard protocol; xterm's modifyOtherKeys).
 */
const LEAVE = /\u001c|\u001b\[92;5(?::1)?u|\u001b\[27;5;92~/;

async function attach(
  context: CommandContext,
  name: string,
  options: { pane: protocol.Pane },
): Promise<void> {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    throw new FairleadError('usage', 'attach needs a terminal.', {
      hint: 'Run it in a terminal, or use `fairlead log` to read the conversation.',
    });
  }
  const { pane } = options;
  const goesOn = pane === 'agent' ? 'the agent goes on' : 'the shell goes on';
  const told = `fairlead ${pane === 'agent' ? '' : 'shell of '}${printable(name)}: Ctrl-\\ leaves, and ${goesOn}`;
  context.output.dim(told);
  const sidecar = await context.sidecar();
  const { socket, ticket } = await sidecar.request(protocol.Attach, { session: name, pane: options.pane });
  // From here on the bytes take their own way: the sidecar may come and go.
  sidecar.close();
  // A terminal that does not know its size leaves the agent's as it is.
  const size = () => {
    const { columns: cols, rows } = process.stdout;
    return cols > 0 && rows > 0 ? { cols, rows } : undefined;
  };
  const known = size();
  const attachment = await Attachment.open(connect(socket), ticket, {
    client: `fairlead attach ${BUILD.version}`,
    ...(known === undefined ? {} : { size: known }),
    manualAck: true,
  });
  const screen = holdTerminal(process.stdin, process.stdout, told);
  attachment.on('fault', (error) => context.output.note(`\r\n[${printable(error.message)}]\r`));
  const write = (bytes: Buffer, position: number) =>
    process.stdout.write(bytes, () => attachment.processed(position + bytes.length));
  attachment.on('snapshot', (snapshot) => {
    screen.reset();
    process.stdout.write(snapshot.bytes, () => attachment.processed(snapshot.position));
  });
  attachment.on('data', write);
  process.stdout.on('resize', () => {
    const now = size();
    if (now !== undefined) attachment.resize(now);
  });
  process.stdin.on('data', (keys: Buffer) => {
    // One character a byte, so that places in the text are places in the bytes.
    const at = keys.toString('latin1').search(LEAVE);
    if (at < 0) return attachment.write(keys);
    if (at > 0) attachment.write(keys.subarray(0, at));
    attachment.detach();
    attachment.emit('lost', new FairleadError('cancelled', 'Left.'));
    return undefined;
  });
  const again = `fairlead attach ${quoteWord(name)}${pane === 'agent' ? '' : ' --pane shell'}`;
  const end = await new Promise<{ how: string; next: string }>((resolve, reject) => {
    // Ctrl-C goes to the agent as a key; a signal from elsewhere ends the showing.
    const onAbort = () => {
      attachment.detach();
      reject(new FairleadError('cancelled', 'Cancelled.'));
    };
    if (context.signal.aborted) onAbort();
    context.signal.addEventListener('abort', onAbort, { once: true });
    attachment.once('exit', ({ exitCode, signal }) =>
      resolve({
        how: `ended (${signal ?? `exit ${exitCode}`})`,
        next:
          pane === 'agent'
            ? `Start it again, with its conversation: fairlead resume ${quoteWord(name)}`
            : `Open another: ${again}`,
      }),
    );
    attachment.once('lost', (reason) =>
      reason.code === 'cancelled'
        ? resolve({ how: `left; ${goesOn}`, next: `Come back: ${again}` })
        : reject(reason),
    );
  }).finally(() => screen.release());
  context.output.note(`[${end.how}]`);
  context.output.hint(end.next);
}

async function askpass(context: CommandContext, question: string): Promise<void> {
  const sidecar = await context.runningSidecar();
  const token = context.environment.FAIRLEAD_ASKPASS_TOKEN ?? '';
  const answer =
    sidecar === undefined ? null : (await sidecar.request(protocol.Askpass, { question, token })).answer;
  if (answer === null) throw new FairleadError('cancelled', 'Nobody answered.');
  process.stdout.write(`${answer}\n`);
}
