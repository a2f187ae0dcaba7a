import { type Command, Option } from 'commander';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import type { Session, Turn } from '../../protocol/session.ts';
import { age, dollars, outcomeWords } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { count, examples, filled, seconds, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { oneLine } from '../fleet-table.ts';
import { afterWaiting, nextSteps } from '../next-steps.ts';
import { type Output, printable, quotedText, table } from '../output.ts';
import { requestOnce } from '../request-once.ts';
import { simple, tellState } from '../session-request.ts';
import { stateSentence } from '../state-label.ts';
import { readPrompt } from '../stdin.ts';

/** Commands that speak to an agent, and tell what was said. */
export function addDialogueCommands(program: Command, act: Act): void {
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
    .argument('<answer>', 'allow, deny, "deny: <why>", the label of an option, or a text', filled('<answer>'))
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
    .description('what was asked of a session and what it answered in the end, turn by turn')
    .addArgument(sessionArgument())
    .option('--turns', 'one line for each turn', false)
    .addHelpText('after', examples('log k3f9', 'log k3f9 --turns'))
    .action(act(log));
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
  if (confirmed && facts.life === 'sleeping') {
    return `The agent of ${id} took it as a command of its own, and has ended.`;
  }
  if (confirmed) return `${id} got the prompt.`;
  if (facts.life === 'sleeping') {
    return `The agent of ${id} has ended. It gets the prompt when it is started again: fairlead resume ${id}`;
  }
  if (facts.agent !== 'needs-you') return `${id} gets the prompt when its turn ends.`;
  return `${id} needs you first, and gets the prompt then: ${printable(reason?.message ?? 'look at its terminal')}`;
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
      hint: afterWaiting(session, options.for),
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
  // Whoever was shown the answer has seen it; a script that asks for it has not.
  if (!context.output.json && !options.turns) await sidecar.request(protocol.MarkRead, { session: name });
}

function turnTable(turns: readonly Turn[], context: CommandContext): string {
  if (turns.length === 0) return 'No turn yet.';
  return table(
    ['TURN', 'OUTCOME', 'TOOK', 'COST', 'PROMPT'],
    turns.map((turn) => [
      String(turn.n),
      outcomeWords(turn.outcome),
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
      const head = output.paint(
        'bold',
        `── Turn ${turn.n} · ${outcomeWords(turn.outcome)} · ${dollars(turn.costUsd)}`,
      );
      const said = [turn.prompt, ...turn.messages.map(({ text }) => text)].map(quotedText).join('\n>\n');
      return [head, said, '', turn.answer === null ? '' : printable(turn.answer)].join('\n').trimEnd();
    })
    .join('\n\n');
}
