import { type Command, Option } from 'commander';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import { PermissionMode, type Session } from '../../protocol/session.ts';
import type { Act } from '../act.ts';
import { count, examples, filled, key, line, sessionArgument } from '../arguments.ts';
import { type CommandContext, requireFolder } from '../context.ts';
import { nextSteps } from '../next-steps.ts';
import { printable, quotedText } from '../output.ts';
import { withProgress } from '../progress.ts';
import { requestOnce } from '../request-once.ts';
import { simple, tellState } from '../session-request.ts';
import { readPrompt } from '../stdin.ts';

interface NewOptions {
  title?: string;
  base?: string;
  agent?: string;
  model?: string;
  mode?: PermissionMode;
  key?: string;
  attempts: number;
  start: boolean;
  bringChanges: boolean;
}

/** The command that makes sessions. */
export function addNewCommand(program: Command, act: Act): void {
  program
    .command('new')
    .description('start a session: a branch, a worktree and an agent in it')
    .argument('[prompt]', 'what the agent shall do; "-" reads it from standard input')
    .option(
      '--title <title>',
      'name of the session; by default the first line of the prompt',
      filled('--title', 200),
    )
    .option(
      '--base <ref>',
      'branch to start from and to land on; by default the one that is checked out',
      line('--base', 300),
    )
    .option('--agent <agent>', 'agent definition to use', line('--agent', 100))
    .option('--model <model>', 'model of the agent', line('--model', 200))
    .addOption(new Option('--mode <mode>', 'permission mode of the agent').choices(PermissionMode.options))
    .option('--key <key>', 'a name of your own to find the session by', key)
    .option(
      '--attempts <n>',
      'let so many sessions try it side by side, each on its own branch',
      count('--attempts', 1, protocol.MAX_ATTEMPTS),
      1,
    )
    .option('--bring-changes', 'copy the uncommitted changes of the main checkout into the worktree', false)
    .option('--no-start', 'make branch and worktree, start no agent')
    .addHelpText(
      'after',
      examples('new "Add a method longest() to Harbour"', 'new - --mode plan --key longest < prompt.txt'),
    )
    .action(act(newSession));
}

/** Commands by which a session is kept, or put away. */
export function addSessionCommands(program: Command, act: Act): void {
  program
    .command('rename')
    .description('give a session another title')
    .addArgument(sessionArgument())
    .argument('<title>', 'what to call it', filled('<title>', 200))
    .addHelpText('after', examples('rename k3f9 "The longest boat"'))
    .action(act(rename));

  program
    .command('resume')
    .description('start the agent of a sleeping session again, with its conversation')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('resume k3f9'))
    .action(act(simple(protocol.Resume)));

  program
    .command('stop')
    .description('end the agent; branch, worktree and conversation stay')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('stop k3f9'))
    .action(act(stop));

  program
    .command('archive')
    .description('remove the worktree of a session; its branch and conversation stay')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('archive k3f9'))
    .action(act(archive));
}

async function newSession(
  context: CommandContext,
  prompt: string | undefined,
  options: NewOptions,
): Promise<void> {
  const { start, bringChanges, ...named } = options;
  const folder = requireFolder(context);
  const text = prompt === undefined ? {} : { prompt: await readPrompt(prompt) };
  const made = await withProgress(context.output, 'Making branch and worktree…', () =>
    requestOnce(context, protocol.NewSession, (requestId) => ({
      folder,
      ...text,
      ...named,
      start,
      bringChanges,
      requestId,
    })),
  ).catch((error: unknown) => {
    const isCancelled = error instanceof FairleadError && error.code === 'cancelled';
    // One that says more has left something.
    if (isCancelled && error.hint === undefined) context.output.note('Nothing was made.');
    throw error;
  });
  context.output.result(made, ({ attempts }) => attempts.map(madeLines).join('\n\n'));
  for (const note of made.notes) context.output.note(`note: ${printable(note)}`);
  if (made.leftBehind > 0) {
    const stay =
      made.leftBehind === 1 ? 'One uncommitted change stays' : `${made.leftBehind} uncommitted changes stay`;
    context.output.note(`note: ${stay} in ${printable(made.session.repo)}; --bring-changes copies them.`);
  }
}

function madeLines(session: Session): string {
  const lines = [
    `${session.id}  ${printable(session.title)}`,
    `branch    ${session.branch}, from ${session.base}`,
    `worktree  ${printable(session.worktree)}`,
  ];
  if (session.state === 'needs-you') {
    lines.push(`needs you ${printable(session.reason?.message ?? '')}`);
    lines.push(...nextSteps(session).map((step) => `          ${step}`));
  }
  return lines.join('\n');
}

async function rename(context: CommandContext, name: string, title: string): Promise<void> {
  const sidecar = await context.sidecar();
  const session = await sidecar.request(protocol.Rename, { session: name, title });
  context.output.result(session, () => `${session.id} is now "${printable(session.title)}".`);
}

async function archive(context: CommandContext, name: string): Promise<void> {
  const sidecar = await context.sidecar();
  const session = await sidecar.request(protocol.Archive, { session: name }, context.signal);
  tellState(context, session);
  if (context.output.json) return;
  const { prompts } = await sidecar
    .request(protocol.UnsentPrompts, { session: session.id })
    // A sidecar of an earlier build does not know the question.
    .catch(() => ({ prompts: [] }));
  for (const prompt of prompts)
    context.output.note(`note: Its agent never got this prompt:\n${quotedText(prompt)}`);
}

async function stop(context: CommandContext, name: string): Promise<void> {
  const sidecar = await context.sidecar();
  const session = await sidecar.request(protocol.Stop, { session: name }, context.signal);
  context.output.result(session, ({ id }) => `${id} was stopped.`);
  if (session.queue !== null) {
    context.output.note('It is still queued: its work lands as it is.');
    context.output.hint(`To take it out of the queue: fairlead unqueue ${session.id}`);
  }
}
