import { type Command, Option } from 'commander';
import { takesWhy } from '../../protocol/answers.ts';
import type { QueueEntry } from '../../protocol/entry.ts';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import type { Reason, ReasonKind } from '../../protocol/reason.ts';
import { PermissionMode, type Session, type Turn } from '../../protocol/session.ts';
import { age, dollars } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { count, examples, filled, key, line, seconds, sessionArgument } from '../arguments.ts';
import { type CommandContext, requireFolder } from '../context.ts';
import { entrySentence } from '../entry-sentence.ts';
import { landingSteps, nextSteps } from '../next-steps.ts';
import { type Output, printable, table } from '../output.ts';
import { withProgress } from '../progress.ts';
import { requestOnce } from '../request-once.ts';
import type { SidecarConnection } from '../sidecar-connection.ts';
import { stateLabel, stateSentence } from '../state-label.ts';
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

/** Commands about one session or all of them: made, seen, spoken to, put away. */
export function addSessionCommands(program: Command, act: Act): void {
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

  program
    .command('ls')
    .description('the fleet: every session, what needs you first')
    .option('--all', 'archived sessions too', false)
    .addHelpText('after', examples('ls', 'ls --all --json'))
    .action(act(list));

  program
    .command('show')
    .description('one session: what it does, what it asks, what you can do next')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('show k3f9'))
    .action(act(show));

  program
    .command('send')
    .description('send a prompt to a session; its agent is started again when it sleeps')
    .addArgument(sessionArgument())
    .argument('<text>', '"-" reads it from standard input')
    .addHelpText('after', examples('send k3f9 "Add a test for an empty harbour"', 'send k3f9 - < prompt.txt'))
    .action(act(send));

  program
    .command('answer')
    .option('--need <n>', 'answer only this: the number of what is asked, from show --json', count('--need'))
    .description('answer what an agent asks: allow, deny, or a text')
    .addArgument(sessionArgument())
    .argument('<answer>', 'allow, deny, "deny: why", the label of an option, or a text', filled('<answer>'))
    .addHelpText(
      'after',
      examples('answer k3f9 allow', 'answer k3f9 "deny: use the other file"', 'answer k3f9 Blue'),
    )
    .action(act(answer));

  program
    .command('interrupt')
    .description('stop the turn that runs; the agent stays')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('interrupt k3f9'))
    .action(act(simple(protocol.Interrupt)));

  program
    .command('wait')
    .description('wait until a session has got somewhere')
    .addArgument(sessionArgument())
    .addOption(
      new Option('--for <goal>', 'what to wait for').choices(protocol.WaitGoal.options).default('turn'),
    )
    .option('--timeout <seconds>', 'give up after so many seconds', seconds('--timeout'))
    .addHelpText('after', examples('wait k3f9', 'wait k3f9 --for landed --timeout 600'))
    .action(act(wait));

  program
    .command('log')
    .description('the conversation of a session, turn by turn')
    .addArgument(sessionArgument())
    .option('--turns', 'one line for each turn', false)
    .addHelpText('after', examples('log k3f9', 'log k3f9 --turns'))
    .action(act(log));

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
    .action(act(simple(protocol.Archive)));
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
  );
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

async function list(context: CommandContext, options: { all: boolean }): Promise<void> {
  const sidecar = await context.sidecar();
  const sessions = await sidecar.request(protocol.ListSessions, { archived: options.all });
  context.output.result(sessions, (rows) =>
    rows.length === 0
      ? 'No session. Start one with: fairlead new "what the agent shall do"'
      : fleetTable(rows, context.output, context.now()),
  );
}

/** Terminal columns from which on the branch of a session is shown beside its title, which it is made of. */
const WIDE = 160;

/** The fleet as people read it, in the order that it is given. */
export function fleetTable(sessions: readonly Session[], output: Output, now: number): string {
  const wide = output.width >= WIDE;
  return table(
    ['SESSION', 'STATE', 'SINCE', 'TURNS', 'COST', ...(wide ? ['BRANCH'] : []), 'TITLE'],
    sessions.map((session) => [
      session.unread ? output.paint('bold', session.id) : session.id,
      stateLabel(session, output),
      age(session.since, now),
      String(session.turns),
      dollars(session.cost.ownUsd) + (session.cost.unpriced > 0 ? '+?' : ''),
      ...(wide ? [session.branch] : []),
      printable(
        // What is asked comes first: a narrow terminal cuts the rest.
        session.reason === null ? session.title : `${oneLine(session.reason.message)} · ${session.title}`,
      ),
    ]),
    output.width,
  );
}

/** Characters of a reason in a table, whose whole text `fairlead show` has. */
const MAX_REASON = 100;

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_REASON ? line : `${line.slice(0, MAX_REASON - 1)}…`;
}

async function show(context: CommandContext, name: string): Promise<void> {
  const sidecar = await context.sidecar();
  const session = await withWholeNeed(
    sidecar,
    await sidecar.request(protocol.ShowSession, { session: name }),
  );
  const entry = await lastEntry(sidecar, session);
  context.output.result(session, () => describe(session, entry, context.output, context.now()));
}

/** The session with the whole input of the tool that asks, of which clients are told the beginning. */
async function withWholeNeed(sidecar: SidecarConnection, session: Session): Promise<Session> {
  if (session.reason?.truncated !== true) return session;
  const { need, reason } = await sidecar.request(protocol.ShowNeed, { session: session.id });
  return need === session.need ? { ...session, reason } : session;
}

/** Needs that come from the merge queue. */
const OF_LANDING: readonly ReasonKind[] = [
  'conflict',
  'check-failed',
  'landing-stopped',
  'base-refuses-pushes',
  'login',
];

/** How the session stands in the merge queue, or why it left it; undefined when that is not what there is to tell. */
async function lastEntry(sidecar: SidecarConnection, session: Session): Promise<QueueEntry | undefined> {
  const { id, queue, reason } = session;
  if (queue === null && (reason === null || !OF_LANDING.includes(reason.kind))) return undefined;
  const entries = await sidecar.request(protocol.ListQueue, { ended: true });
  return entries
    .filter((entry) => entry.session === id)
    .sort((one, other) => other.queuedAt - one.queuedAt)
    .at(0);
}

function describe(session: Session, entry: QueueEntry | undefined, output: Output, now: number): string {
  const rows: [string, string][] = [
    ['session', session.id + (session.key === null ? '' : ` (${session.key})`)],
    ['title', printable(session.title)],
    ['state', `${stateLabel(session, output)} for ${age(session.since, now)}`],
    ['repository', session.repo],
    ['branch', `${session.branch}, from ${session.base}`],
    ['worktree', session.state === 'archived' ? `removed (was ${session.worktree})` : session.worktree],
    ['agent', [session.agent, session.model, session.mode].filter((part) => part !== null).join(', ')],
    ['turns', String(session.turns)],
    [
      'cost',
      `${dollars(session.cost.ownUsd)} own, ${dollars(session.cost.usd)} in all` +
        (session.cost.unpriced > 0 ? `, ${session.cost.unpriced} requests unpriced` : ''),
    ],
  ];
  const needs: [string, string][] = [];
  const { reason } = session;
  if (reason !== null) {
    needs.push(['needs you', printable(reason.message)]);
    if (reason.input !== undefined) needs.push(['input', printable(JSON.stringify(reason.input))]);
    for (const options of optionRows(reason)) needs.push(['options', printable(options)]);
  }
  if (entry !== undefined) needs.push(['queue', entrySentence(entry)]);
  const steps =
    reason === null && entry?.state === 'waiting' ? landingSteps(entry) : nextSteps(session, entry);
  for (const step of steps) needs.push(['next', step]);
  rows.splice(3, 0, ...needs);
  return rows.map(([name, value]) => `${output.paint('dim', name.padEnd(11))}${value}`).join('\n');
}

/** What can be chosen; of several questions at once a row each. */
function optionRows({ questions = [], ...reason }: Reason): string[] {
  if (questions.length > 1) {
    return questions.map(({ question, options }) => `${question} ${options.join(' · ')}`);
  }
  const options = [...(reason.options ?? []), ...(takesWhy(reason) ? ['deny: why'] : [])];
  return options.length === 0 ? [] : [options.join(' · ')];
}

async function send(context: CommandContext, name: string, text: string): Promise<void> {
  const prompt = await readPrompt(text);
  const sent = await requestOnce(context, protocol.SendPrompt, (requestId) => ({
    session: name,
    text: prompt,
    requestId,
  }));
  context.output.result(sent, sentSentence);
  if (!sent.confirmed) for (const step of nextSteps(sent.session)) context.output.hint(step);
}

/** Whether the agent has the prompt, or what has to be before it gets it. */
function sentSentence({ confirmed, session }: { confirmed: boolean; session: Session }): string {
  const { id, facts, reason } = session;
  if (confirmed) return `${id} got the prompt.`;
  if (facts.life === 'sleeping') {
    return `The agent of ${id} has ended. It gets the prompt when it is started again: fairlead resume ${id}`;
  }
  if (facts.agent !== 'needs-you') return `${id} gets the prompt when its turn ends.`;
  return `${id} needs you first, and gets the prompt then: ${printable(reason?.message ?? 'look at its terminal')}`;
}

/** How the session is after what was done, and what the person can do when it needs them. */
function tellState({ output }: CommandContext, session: Session): void {
  output.result(session, stateSentence);
  for (const step of nextSteps(session)) output.hint(step);
}

async function answer(
  context: CommandContext,
  name: string,
  text: string,
  options: { need?: number },
): Promise<void> {
  const sidecar = await context.sidecar();
  const asking = await sidecar.request(protocol.ShowSession, { session: name });
  const need = options.need ?? asking.need ?? undefined;
  if (asking.reason !== null && need === asking.need) {
    context.output.note(`Answering: ${printable(asking.reason.message)}`);
  }
  const session = await sidecar.request(
    protocol.Answer,
    { session: name, answer: text, ...(need === undefined ? {} : { need }) },
    context.signal,
  );
  tellState(context, session);
}

interface WaitOptions {
  for: protocol.WaitGoal;
  timeout?: number;
}

async function wait(context: CommandContext, name: string, options: WaitOptions): Promise<void> {
  const sidecar = await context.sidecar();
  const { session, reached } = await sidecar.request(
    protocol.Wait,
    {
      session: name,
      goal: options.for,
      ...(options.timeout === undefined ? {} : { timeoutSeconds: options.timeout }),
    },
    context.signal,
  );
  if (!reached) {
    throw new FairleadError('wait.timed-out', `${options.timeout} s have passed: ${stateSentence(session)}`, {
      hint: `Run \`fairlead show ${session.id}\` to see what it waits for.`,
      data: session,
    });
  }
  tellState(context, session);
}

async function log(context: CommandContext, name: string, options: { turns: boolean }): Promise<void> {
  const sidecar = await context.sidecar();
  const turns = await sidecar.request(protocol.Turns, { session: name });
  context.output.result(turns, () =>
    options.turns ? turnTable(turns, context) : conversation(turns, context.output),
  );
}

function turnTable(turns: readonly Turn[], context: CommandContext): string {
  if (turns.length === 0) return 'No turn yet.';
  return table(
    ['TURN', 'OUTCOME', 'TOOK', 'COST', 'PROMPT'],
    turns.map((turn) => [
      String(turn.n),
      turn.outcome,
      age(turn.startedAt, turn.endedAt ?? context.now()),
      dollars(turn.costUsd) + (turn.unpriced > 0 ? '+?' : ''),
      oneLine(printable(turn.prompt)),
    ]),
    context.output.width,
  );
}

function conversation(turns: readonly Turn[], output: Output): string {
  if (turns.length === 0) return 'No turn yet.';
  return turns
    .map((turn) => {
      const head = output.paint('bold', `── Turn ${turn.n} · ${turn.outcome} · ${dollars(turn.costUsd)}`);
      const said = [turn.prompt, ...turn.messages.map(({ text }) => text)].map(quoted).join('\n>\n');
      return [head, said, '', turn.answer === null ? '' : printable(turn.answer)].join('\n').trimEnd();
    })
    .join('\n\n');
}

function quoted(text: string): string {
  return printable(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

async function rename(context: CommandContext, name: string, title: string): Promise<void> {
  const sidecar = await context.sidecar();
  const session = await sidecar.request(protocol.Rename, { session: name, title });
  context.output.result(session, () => `${session.id} is now "${printable(session.title)}".`);
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

/** A request that takes a session and answers with it. */
type SessionRequest = typeof protocol.Interrupt;

function simple(kind: SessionRequest) {
  return async (context: CommandContext, name: string): Promise<void> => {
    const sidecar = await context.sidecar();
    const session = await sidecar.request(kind, { session: name }, context.signal);
    tellState(context, session);
  };
}
