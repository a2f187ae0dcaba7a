import type { Command } from 'commander';
import { takesWhy } from '../../protocol/answers.ts';
import type { QueueEntry } from '../../protocol/entry.ts';
import { isOfLanding } from '../../protocol/landing.ts';
import * as protocol from '../../protocol/protocol.ts';
import type { Reason } from '../../protocol/reason.ts';
import type { Session } from '../../protocol/session.ts';
import { age, dollars, sleepWords } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { examples, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { entrySentence } from '../entry-sentence.ts';
import { fleetTable } from '../fleet-table.ts';
import { landingSteps, nextSteps, onwardSteps } from '../next-steps.ts';
import { type Output, printable } from '../output.ts';
import type { SidecarConnection } from '../sidecar-connection.ts';
import { stateLabel } from '../state-label.ts';

/** Commands that show sessions: all of them, or one. */
export function addFleetCommands(program: Command, act: Act): void {
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

/** How the session stands in the merge queue, or why it left it; undefined when that is not what there is to tell. */
async function lastEntry(sidecar: SidecarConnection, session: Session): Promise<QueueEntry | undefined> {
  const { id, queue, reason } = session;
  const entries = await sidecar.request(protocol.ListQueue, { ended: true });
  const entry = entries
    .filter((each) => each.session === id)
    .sort((one, other) => other.queuedAt - one.queuedAt)
    .at(0);
  const isTold = queue !== null || (reason !== null && (isOfLanding(reason.kind) || reason.kind === 'login'));
  return isTold || (entry !== undefined && hasFailed(session, entry)) ? entry : undefined;
}

/** It did not land, and nothing has landed since. */
function hasFailed({ state, facts }: Session, entry: QueueEntry): boolean {
  return entry.state === 'failed' && facts.landing === 'none' && state !== 'archived';
}

function describe(session: Session, entry: QueueEntry | undefined, output: Output, now: number): string {
  const rows: [string, string][] = [
    ['session', session.id + (session.key === null ? '' : ` (${session.key})`)],
    ['title', printable(session.title)],
    ['state', `${stateLabel(session, output)} for ${age(session.since, now)}${asleep(session)}`],
    ['repository', session.repo],
    ['branch', `${session.branch}, from ${session.base}`],
    ['worktree', session.state === 'archived' ? `removed (was ${session.worktree})` : session.worktree],
    ['agent', [session.agent, session.model, session.mode].filter((part) => part !== null).join(', ')],
    ['turns', String(session.turns) + lastTurn(session)],
    [
      'cost',
      `${dollars(session.cost.ownUsd)} own, ${dollars(session.cost.usd)} in all` +
        (session.cost.unpriced > 0 ? `, ${session.cost.unpriced} requests unpriced` : ''),
    ],
  ];
  const needs: [string, string][] = [];
  const { reason } = session;
  if (reason !== null) {
    // What is resolved the queue tells.
    if (session.state !== 'resolving') needs.push(['needs you', printable(reason.message)]);
    if (reason.input !== undefined) needs.push(['input', printable(JSON.stringify(reason.input))]);
    for (const options of optionRows(reason)) needs.push(['options', printable(options)]);
  }
  if (entry !== undefined) needs.push(['queue', entrySentence(entry)]);
  const landsAgain = entry !== undefined && hasFailed(session, entry);
  const onward =
    entry?.state === 'waiting'
      ? landingSteps(entry, session.facts)
      : [...nextSteps(session, entry), ...onwardSteps(session, { landsAgain })];
  const steps = reason === null ? onward : nextSteps(session, entry);
  for (const step of steps) needs.push(['next', step]);
  rows.splice(3, 0, ...needs);
  return rows.map(([name, value]) => `${output.paint('dim', name.padEnd(11))}${value}`).join('\n');
}

/** That no agent runs, where the state does not say it. */
function asleep(session: Session): string {
  const words = sleepWords(session);
  return words === '' ? '' : `; ${words}`;
}

/** How the last turn ended, where that was not as it should. */
function lastTurn({ outcome }: Session): string {
  return outcome === 'interrupted' || outcome === 'failed' ? `, the last ${outcome}` : '';
}

/** What can be chosen; of several questions at once a row each. */
function optionRows({ questions = [], ...reason }: Reason): string[] {
  if (questions.length > 1) {
    return questions.map(({ question, options }) => `${question} ${options.join(' · ')}`);
  }
  const options = [...(reason.options ?? []), ...(takesWhy(reason) ? ['deny: <why>'] : [])];
  return options.length === 0 ? [] : [options.join(' · ')];
}
