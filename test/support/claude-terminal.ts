import { mkdirSync } from 'node:fs';
import xterm from '@xterm/headless';
import { type IPty, spawn } from 'node-pty';
import type { HookEvent } from '../../sidecar/agents/claude/hook-event.ts';
import { readEventFiles } from '../../sidecar/agents/claude/hook-event.ts';
import { foldHookEvents } from '../../sidecar/agents/claude/hook-state.ts';
import type { KeyStep } from '../../sidecar/agents/claude/keys.ts';
import { readRegistry } from '../../sidecar/agents/claude/registry.ts';
import { launchSettings } from '../../sidecar/agents/claude/settings.ts';
import { type AgentState, joinSignals, type ProcessFact } from '../../sidecar/agents/claude/state.ts';
import { readTranscript, type TranscriptPosition } from '../../sidecar/agents/claude/transcript.ts';
import { foldHints, NO_HINTS, type TranscriptHints } from '../../sidecar/agents/claude/transcript-hints.ts';
import { findTranscript } from '../../sidecar/agents/claude/transcript-path.ts';
import { sleep } from '../../sidecar/platform/clock.ts';
import { isAlive } from '../../sidecar/platform/processes.ts';
import type { StatusReport } from '../../sidecar/protocol/ptywire.ts';
import { parseStatus, STATUS_REPLY } from '../../sidecar/ptyhost/program-status.ts';
import { CLAUDE, type ClaudeHome } from './claude.ts';

export interface ClaudeTerminalOptions {
  home: ClaudeHome;
  cwd: string;
  /** Where the hooks put their events. */
  events: string;
  /** Arguments; `--settings` with the hooks is added where it is missing. */
  args: readonly string[];
  env?: Record<string, string>;
  /** Signals to do without, to show that the others suffice. */
  without?: readonly ('hooks' | 'status' | 'registry' | 'transcript')[];
}

const MAX_QUERY = 8192;

/** The real CLI in a real PTY, with every signal that Fairlead reads; no sidecar and no ptyhost. */
export class ClaudeTerminal {
  readonly #options: ClaudeTerminalOptions;
  readonly #pty: IPty;
  readonly #screen = new xterm.Terminal({ cols: 120, rows: 40, allowProposedApi: true });
  readonly #startedAt = Date.now();
  readonly #statuses: StatusReport[] = [];
  #process: ProcessFact;
  #pendingOutput = '';
  #transcript: { path: string; position: TranscriptPosition | undefined; hints: TranscriptHints } | undefined;

  constructor(options: ClaudeTerminalOptions) {
    this.#options = options;
    this.#process = { kind: 'running', startedAt: this.#startedAt };
    mkdirSync(options.events, { recursive: true });
    // Of two `--settings` the CLI takes the last.
    const settings = options.args.includes('--settings')
      ? []
      : ['--settings', JSON.stringify(launchSettings(options.events))];
    this.#pty = spawn(CLAUDE, [...settings, ...options.args], {
      cols: 120,
      rows: 40,
      cwd: options.cwd,
      env: { ...options.home.env, ...options.env },
    });
    this.#pty.onData((data) => this.#take(data));
    this.#pty.onExit(({ exitCode, signal }) => {
      this.#process = {
        kind: 'exited',
        at: Date.now(),
        exitCode: signal ? null : exitCode,
        signal: signal ? String(signal) : null,
      };
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Reports of the program's own record, in order. */
  get statuses(): readonly StatusReport[] {
    return this.#statuses;
  }

  events(): HookEvent[] {
    return this.#without('hooks') ? [] : readEventFiles(this.#options.events).events;
  }

  screen(): string[] {
    const buffer = this.#screen.buffer.active;
    return Array.from(
      { length: this.#screen.rows },
      (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '',
    );
  }

  write(keys: string): void {
    if (this.#process.kind === 'running') this.#pty.write(keys);
  }

  async press(steps: readonly KeyStep[] | undefined): Promise<void> {
    if (steps === undefined) throw new Error(`no keys for this screen:\n${this.screen().join('\n')}`);
    for (const { keys, pauseMs, expect } of steps) {
      if (expect !== undefined)
        await this.until(() => this.screen().join('\n').includes(expect), `"${expect}"`);
      this.write(keys);
      await sleep(pauseMs);
    }
  }

  /** What the transcript tells by now; undefined before its first line. */
  hints(): TranscriptHints | undefined {
    const conversation = foldHookEvents(this.events()).agentSessions.at(-1) ?? this.#sessionArgument();
    return conversation === undefined ? undefined : this.#hints(conversation);
  }

  /** What all signals say together at this moment. */
  state(): AgentState {
    const hooks = foldHookEvents(this.events());
    const conversation = hooks.agentSessions.at(-1) ?? this.#sessionArgument();
    const { configDir } = this.#options.home;
    return joinSignals({
      process: this.#process,
      hooks,
      status: this.#without('status') ? undefined : this.#statuses.at(-1),
      registry:
        conversation === undefined || this.#without('registry')
          ? undefined
          : readRegistry(configDir, conversation, isAlive),
      transcript:
        conversation === undefined || this.#without('transcript') ? undefined : this.#hints(conversation),
      screen: this.screen(),
      now: Date.now(),
    });
  }

  /** Resolves with the state once `wanted` holds for it; rejects with all that is known when it never does. */
  async untilState(wanted: (state: AgentState) => boolean, timeoutMs = 20_000): Promise<AgentState> {
    let state = this.state();
    const holds = () => {
      state = this.state();
      return wanted(state);
    };
    await this.until(holds, 'the state', timeoutMs);
    return state;
  }

  async until(holds: () => boolean, what = 'the condition', timeoutMs = 20_000): Promise<void> {
    for (const end = Date.now() + timeoutMs; !holds(); await sleep(20)) {
      if (Date.now() < end) continue;
      throw new Error(
        [
          `${what} did not come in ${timeoutMs} ms; the state is ${JSON.stringify(this.state())}`,
          ...this.events().map((event) => `${Math.round(event.at - this.#startedAt)} hook ${event.event}`),
          ...this.#statuses.map(
            (status) => `${status.at - this.#startedAt} status ${JSON.stringify(status)}`,
          ),
          ...this.screen().filter((row) => row.trim() !== ''),
        ].join('\n'),
      );
    }
  }

  /** Ends the CLI and everything it started. */
  async end(): Promise<void> {
    if (this.#process.kind === 'running') {
      try {
        process.kill(-this.pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
      await this.until(() => this.#process.kind !== 'running', 'the end');
    }
    this.#screen.dispose();
  }

  /** Like the ptyhost: answers what a terminal answers, keeps the program's reports. */
  #take(data: string): void {
    this.#screen.write(data);
    const text = this.#pendingOutput + data;
    let rest = 0;
    for (const match of text.matchAll(/\u001b\]7501;([^\u0007\u001b]*)(?:\u0007|\u001b\\)/g)) {
      rest = match.index + match[0].length;
      const report = parseStatus(match[1] ?? '');
      if (report?.query) this.write(STATUS_REPLY);
      else if (report !== undefined && report.status.id === undefined) {
        this.#statuses.push({ ...report.status, at: Date.now() });
      }
    }
    if (/\u001b\[0?c/.test(data)) this.write('\u001b[?62;22c');
    const open = text.lastIndexOf('\u001b]');
    this.#pendingOutput = open >= rest ? text.slice(open).slice(0, MAX_QUERY) : '';
  }

  #hints(conversation: string): TranscriptHints | undefined {
    const path = findTranscript(this.#options.home.configDir, conversation);
    if (path === undefined) return undefined;
    if (this.#transcript?.path !== path) this.#transcript = { path, position: undefined, hints: NO_HINTS };
    const read = readTranscript(path, this.#transcript.position);
    if (read !== undefined) {
      this.#transcript.hints = foldHints(this.#transcript.hints, read.rows);
      this.#transcript.position = read.position;
    }
    return this.#transcript.hints;
  }

  #sessionArgument(): string | undefined {
    const { args } = this.#options;
    const at = args.findIndex((arg) => arg === '--session-id' || arg === '--resume');
    return at === -1 ? undefined : args[at + 1];
  }

  #without(signal: 'hooks' | 'status' | 'registry' | 'transcript'): boolean {
    return this.#options.without?.includes(signal) ?? false;
  }
}
