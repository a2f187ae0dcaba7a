import { isAbsolute } from 'node:path';
import { Command, CommanderError } from 'commander';
import { BUILD } from '../platform/build.ts';
import { asFairleadError, FairleadError } from '../protocol/errors.ts';
import type { Act } from './act.ts';
import { addCostCommands } from './commands/cost.ts';
import { addDialogueCommands } from './commands/dialogue.ts';
import { addFleetCommands } from './commands/fleet.ts';
import { addLandingCommands } from './commands/landing.ts';
import { addNewCommand, addSessionCommands } from './commands/sessions.ts';
import { addSidecarCommands } from './commands/sidecar.ts';
import { addTerminalCommands } from './commands/terminals.ts';
import type { CommandContext } from './context.ts';
import { exitCodeOf, INTERRUPTED } from './exit-code.ts';
import { Output } from './output.ts';
import { SidecarConnection } from './sidecar-connection.ts';

export interface Surroundings {
  /** Null when it is gone. */
  folder: string | null;
  environment: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
}

/**
 * Runs one command line (without `node` and the script); gives the exit code. One that `signal` cut off is 130, as
 * shells have it for Ctrl-C.
 */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  // Known before parsing, so that wrong usage is told in the same form; taken wherever it stands.
  const ownArgs = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const output = new Output(ownArgs.includes('--json'));
  const rest = [...ownArgs.filter((each) => each !== '--json'), ...args.slice(ownArgs.length)];
  let failure: FairleadError | undefined;

  const act: Act = (run) =>
    async function action(...args) {
      const connections = new Set<SidecarConnection>();
      const keep = (connection: SidecarConnection) => {
        connections.add(connection);
        return connection;
      };
      const context: CommandContext = {
        ...surroundings,
        output,
        now: () => Date.now(),
        sidecar: async () => keep(await SidecarConnection.open(surroundings, { start: true })),
        runningSidecar: async ({ anyVersion } = { anyVersion: false }) => {
          const found = await SidecarConnection.open(surroundings, { start: false, anyVersion }).catch(
            ifNotRunning,
          );
          return found === undefined ? undefined : keep(found);
        },
      };
      try {
        requireOwnHome(surroundings);
        await run(context, ...args);
      } catch (error) {
        failure = asFairleadError(error);
      } finally {
        for (const connection of connections) connection.close();
      }
    };

  const program = new Command('fairlead')
    .description('Run many Claude Code sessions side by side and land their work.')
    .version(`${BUILD.version} (${BUILD.id})`)
    .exitOverride()
    .configureOutput({
      // The help of a command line without a command; every error is told in one form, below.
      writeErr: (text) => (output.json ? undefined : process.stderr.write(text)),
      outputError: () => {},
    });
  addNewCommand(program, act);
  addFleetCommands(program, act);
  addDialogueCommands(program, act);
  addSessionCommands(program, act);
  addLandingCommands(program, act);
  addCostCommands(program, act);
  addTerminalCommands(program, act);
  addSidecarCommands(program, act);
  for (const command of program.commands) {
    command.option('--json', 'print JSON').exitOverride().copyInheritedSettings(program);
  }

  try {
    const unknown = unknownInHelp(program, rest);
    if (unknown !== undefined) throw new FairleadError('usage', `There is no command "${unknown}".`);
    await program.parseAsync(rest, { from: 'user' });
  } catch (error) {
    if (!(error instanceof FairleadError) && !(error instanceof CommanderError)) throw error;
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const usage = error instanceof FairleadError ? error : usageError(error);
    const { code, message, hint = helpHint(program, rest) } = usage;
    const isTold = error instanceof CommanderError && error.code === 'commander.help' && !output.json;
    if (!isTold) output.error(new FairleadError(code, message, { hint }));
    return exitCodeOf(code);
  }
  if (failure === undefined) return Number(process.exitCode ?? 0);
  const interrupted = failure.code === 'cancelled' && surroundings.signal.aborted;
  // Whoever presses Ctrl-C knows that; what goes on without them is worth a word.
  if (!interrupted || failure.hint !== undefined) output.error(failure);
  return interrupted ? INTERRUPTED : exitCodeOf(failure.code);
}

/** @throws FairleadError `home.read-only`: where the home is, is no longer to be known */
function requireOwnHome({ folder, environment }: Surroundings): void {
  const home = environment.FAIRLEAD_HOME;
  if (folder !== null || !home || isAbsolute(home)) return;
  throw new FairleadError(
    'home.read-only',
    `FAIRLEAD_HOME is ${home}, below the folder that you are in, and that is gone.`,
    { hint: 'Go to another folder (cd), or set FAIRLEAD_HOME to an absolute path.' },
  );
}

/** The command that `fairlead help NAME` asks for, when there is none of that name. */
function unknownInHelp(program: Command, args: readonly string[]): string | undefined {
  const [first, name] = args;
  return first !== 'help' || name === undefined || isCommand(program, name) ? undefined : name;
}

function isCommand({ commands }: Command, name: string): boolean {
  return name === 'help' || commands.some((command) => command.name() === name);
}

/** Which help tells what the command line should have been. */
function helpHint(program: Command, args: readonly string[]): string {
  const name = args.find((each) => !each.startsWith('-'));
  const known = name !== undefined && name !== 'help' && isCommand(program, name) ? `${name} ` : '';
  return `Run \`fairlead ${known}--help\`.`;
}

function usageError({ code, message }: CommanderError): FairleadError {
  return new FairleadError('usage', code === 'commander.help' ? 'No command was given.' : sentence(message));
}

function sentence(message: string): string {
  const text = withNearGuesses(message.replace(/^error: /, ''));
  const first = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.?!)]$/.test(first) ? first : `${first}.`;
}

/** Commander guesses widely; a slip of the finger leaves the first letter, or all letters in another order. Pure. */
export function withNearGuesses(message: string): string {
  const guessed = /^(.*?'(.+?)')\s+\(Did you mean (?:one of )?(.+)\?\)$/s.exec(message);
  if (guessed === null) return message;
  const [, told = '', given = '', guesses = ''] = guessed;
  const near = guesses.split(', ').filter((guess) => isNear(given, guess));
  if (near.length === 0) return told;
  return `${told}. Did you mean ${near.length === 1 ? '' : 'one of '}${near.join(', ')}?`;
}

function isNear(given: string, guess: string): boolean {
  const [one, other] = [given, guess].map((text) => text.replace(/^-+/, ''));
  const letters = (text = '') => [...text].sort().join('');
  return one?.[0] === other?.[0] || letters(one) === letters(other);
}

function ifNotRunning(error: unknown): undefined {
  if (error instanceof FairleadError && error.code === 'daemon.not-running') return undefined;
  throw error;
}
