import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, styleText } from 'node:util';
import { findProgram } from '../../sidecar/platform/programs.ts';
import { quoteWord } from '../../sidecar/platform/shell.ts';
import type { FleetEvent } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prepareClaude } from '../../test/support/claude.ts';
import { setLoginPath } from '../../test/support/login-shell.ts';
import { ScriptedModel } from '../../test/support/model/scripted-model.ts';
import { removeFolder } from '../../test/support/remove-folder.ts';
import { type Editor, openEditor } from './editor.ts';
import { personEnvironment } from './person-environment.ts';
import { makeDemoRepository } from './repository.ts';
import tell from './stories.ts';
import { TASKS } from './tasks.ts';

/**
 * The main job, live: three sessions start from prompts, one asks a permission and is answered, all land on `main`
 * one after the other, and their cost is shown; in a window of VS Code beside it, which stays until Ctrl-C, or with
 * `--once` in the terminal alone. Everything is real but the model's answers; with `--real` those too.
 */
const { values } = parseArgs({
  options: {
    real: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    once: { type: 'boolean', default: false },
  },
});

const FAIRLEAD = join(import.meta.dirname, '../../dist/fairlead.js');
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-demo-')));
const repository = join(folder, 'harbour');
mkdirSync(repository);

/** How long one step of the demo may take, in milliseconds; a real model takes its time. */
const STEP_MS = values.real ? 600_000 : 90_000;

/** How long the demo waits for somebody to open its window, in milliseconds. */
const WINDOW_MS = 120_000;

const model = values.real ? undefined : await ScriptedModel.start();
const environment = demoEnvironment();
let failed = false;
let played = false;
let editor: Editor | undefined;
/** Ctrl-C, a closed window or a reader that has seen enough end the demo in order, however often they are told. */
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
process.stdout.on('error', () => stopped.abort());
try {
  await Promise.race([demonstrate(), interrupted()]);
} catch (error) {
  failed = true;
  // Ctrl-C is how a window is left that has shown everything.
  if (!(played && stopped.signal.aborted)) {
    console.error(
      styleText('red', `\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}`),
    );
  }
} finally {
  if (stopped.signal.aborted) console.log('\nEnding what runs…');
  await editor?.close().catch(() => {});
  await run(process.execPath, [FAIRLEAD, 'down', '--all'], 'kept', null).catch(() => {});
  await model?.stop();
  if ((!failed || stopped.signal.aborted) && !values.keep) removeFolder(folder);
}
if (values.keep && !failed) console.log(`\nRepository, home and logs stay in ${folder}`);
if (stopped.signal.aborted) process.exit(played ? 0 : 130);
if (failed) {
  console.error(
    `What it left is in ${folder}; the log: FAIRLEAD_HOME=${environment.FAIRLEAD_HOME} fairlead logs`,
  );
  process.exit(1);
}
console.log(
  `\n${styleText('green', 'Three prompts became three landings on main.')} To go on, ${needNode()}change to a ` +
    `repository of yours and run: node ${FAIRLEAD} new "what the agent shall do"\n` +
    '(`npm link` in this folder makes it `fairlead new …`; README.md shows the rest.)',
);

/** The demo brings a Node of its own; what comes after it runs on the person's. */
function needNode(): string {
  const [major = 0, minor = 0] = (process.env.FAIRLEAD_DEMO_NODE ?? process.versions.node)
    .split('.')
    .map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? '' : 'install Node 22.13 or newer, ';
}

function interrupted(): Promise<never> {
  return new Promise((_, reject) => {
    stopped.signal.addEventListener('abort', () => reject(new Error('it was interrupted.')), { once: true });
  });
}

function demoEnvironment(): Record<string, string> {
  const home = { FAIRLEAD_HOME: join(folder, 'fairlead') };
  if (model === undefined) {
    return { ...personEnvironment(), ...home };
  }
  tell(model);
  const claude = prepareClaude({ home: join(folder, 'home'), modelUrl: model.url, trusted: [repository] });
  // The default of the CLI is auto mode, which cannot check anything with a model on this machine.
  mkdirSync(home.FAIRLEAD_HOME);
  writeFileSync(join(home.FAIRLEAD_HOME, 'config.toml'), '[agent]\nmode = "acceptEdits"\n');
  return { ...claude.env, ...home };
}

async function demonstrate(): Promise<void> {
  if (values.real && findProgram('claude', environment) === undefined) {
    throw new Error(
      'there is no claude on your PATH: install Claude Code and sign in, or play without --real.',
    );
  }
  heading('A repository with one commit on main');
  makeDemoRepository(repository);
  console.log(repository);
  if (!values.once) {
    heading('A window of VS Code on it');
    await openWindow();
  }
  await play();
  played = true;
  if (editor === undefined) return;
  heading('All of it is in the window');
  console.log('Start a session of your own there, or look around.');
  if (model !== undefined) {
    console.log(
      'The scripted model writes down what you ask, so that you can land it; to have it done by your own claude: npm start -- --real',
    );
  }
  console.log('Ctrl-C ends everything and leaves nothing.');
  await interrupted();
}

async function openWindow(): Promise<void> {
  if (model !== undefined) setLoginPath(join(folder, 'home'), environment.PATH);
  editor = await openEditor({ folder, repository, environment, signal: stopped.signal });
  if (editor === undefined) return;
  if (editor.address !== undefined) console.log(`Open ${styleText('bold', editor.address)}`);
  console.log(`It goes on once the window is there, or in ${WINDOW_MS / 60_000} minutes.`);
  const deadline = Date.now() + WINDOW_MS;
  while (Date.now() < deadline && !(await isWindowThere())) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Whether the sidecar has another client than the command that asks. */
async function isWindowThere(): Promise<boolean> {
  const { sidecar } = JSON.parse(await fairlead(['status', '--json'])) as {
    sidecar: { clients: number } | null;
  };
  return sidecar !== null && sidecar.clients > 1;
}

async function play(): Promise<void> {
  heading('Three sessions, each on its own branch, in its own worktree');
  await fairlead(['up']);
  const events = followEvents();
  for (const [key, prompt] of Object.entries(TASKS)) {
    // Files may be edited; commands are asked about.
    await show(['new', prompt, '--key', key, '--mode', 'acceptEdits']);
  }

  heading('They work; one asks for a permission');
  await answerAll();
  await show(['ls']);

  heading('They land on main, one after the other');
  for (const key of Object.keys(TASKS)) await show(['land', key, '--to', 'local', '--no-wait', '--yes']);
  await show(['queue']);
  await until('all land', (sessions) =>
    sessions.every(({ facts }) => facts.landing === 'landed') ? sessions[0] : undefined,
  );
  await show(['queue', '--all']);
  await show(['ls']);
  await showGit('log', '--graph', '--format=%h %s (%an)', 'main');

  heading('What it cost');
  await show(['cost']);
  // In a window they stay to be looked at.
  if (editor === undefined) for (const key of Object.keys(TASKS)) await show(['archive', key]);
  events.stop();
}

/** Answers what the sessions ask, until all have finished. */
async function answerAll(): Promise<void> {
  // An answer takes a moment to show.
  const answered = new Set<string>();
  for (;;) {
    const asking = await until('a session asks, or all finish', (sessions) => {
      if (sessions.every(({ state }) => state === 'finished')) return sessions[0];
      return sessions.find(({ id, state, need }) => state === 'needs-you' && !answered.has(`${id} ${need}`));
    });
    if (asking.state === 'finished') return;
    // A question of trust is about the repository that this script has just made.
    if (asking.reason?.kind !== 'permission' && asking.reason?.kind !== 'trust') {
      throw new Error(`${asking.id} asks what a demo cannot answer: ${asking.reason?.message}`);
    }
    await show(['ls']);
    await show(['show', asking.id]);
    await show(['answer', asking.id, 'allow', '--need', String(asking.need)]);
    answered.add(`${asking.id} ${asking.need}`);
  }
}

function heading(text: string): void {
  console.log(`\n${styleText('bold', `▌ ${text}`)}`);
}

/** Runs a command as a person would, showing what they would type and see. */
function show(args: readonly string[]): Promise<string> {
  console.log(styleText('dim', `$ fairlead ${args.map(quoteWord).join(' ')}`));
  return run(process.execPath, [FAIRLEAD, ...args], 'shown');
}

function fairlead(args: readonly string[]): Promise<string> {
  return run(process.execPath, [FAIRLEAD, ...args], 'kept');
}

function showGit(...args: string[]): Promise<string> {
  console.log(styleText('dim', `$ git ${args.map(quoteWord).join(' ')}`));
  // A pager would wait for somebody in a low terminal.
  return run('git', ['--no-pager', ...args], 'shown');
}

/** Runs to the end without blocking: the scripted model answers from this very process. */
function run(
  command: string,
  args: readonly string[],
  output: 'shown' | 'kept',
  signal: AbortSignal | null = stopped.signal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: repository,
      env: environment,
      stdio: ['ignore', output === 'shown' ? 'inherit' : 'pipe', output === 'shown' ? 'inherit' : 'pipe'],
      timeout: STEP_MS,
      ...(signal === null ? {} : { signal }),
    });
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0
        ? resolve(text)
        : reject(new Error(`\`${[command, ...args].join(' ')}\` ended with ${code}`)),
    );
  });
}

async function until(what: string, find: (sessions: Session[]) => Session | undefined): Promise<Session> {
  const deadline = Date.now() + STEP_MS;
  while (Date.now() < deadline) {
    const found = find(JSON.parse(await fairlead(['ls', '--json'])) as Session[]);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`It took too long until ${what}.`);
}

/** Prints each change of the fleet as it happens. */
function followEvents(): { stop(): void } {
  const child = spawn(process.execPath, [FAIRLEAD, 'events', '--follow', '--json'], {
    cwd: repository,
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { kind, session, message } = JSON.parse(line) as FleetEvent;
    console.log(styleText('cyan', `  ${session}  ${kind === 'entry-changed' ? 'queue: ' : ''}${message}`));
  });
  return { stop: () => child.kill() };
}
