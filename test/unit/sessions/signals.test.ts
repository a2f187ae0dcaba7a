import { describe, expect, it } from 'vitest';
import { SharedRegistry } from '../../../sidecar/agents/claude/registry.ts';
import type { TerminalInfo } from '../../../sidecar/protocol/ptywire.ts';
import { Feed } from '../../../sidecar/sessions/intake.ts';
import type { SessionRecord } from '../../../sidecar/sessions/record.ts';
import { readSignals, type SignalSources } from '../../../sidecar/sessions/signals.ts';
import type { KnownTerminal } from '../../../sidecar/sessions/terminal-host.ts';
import { SessionHome } from './session-home.ts';

const INFO: TerminalInfo = {
  id: 't',
  pid: 7,
  argv: ['claude'],
  cwd: '/w',
  cols: 80,
  rows: 24,
  startedAt: 900_000,
  lastOutputAt: 900_000,
  position: 0,
  title: '',
  status: [],
  clients: 0,
};

interface Situation {
  session?: Partial<SessionRecord>;
  terminal: KnownTerminal;
  rebooted?: boolean;
  screen?: string[];
}

async function read({ session, terminal, rebooted = false, screen = [] }: Situation) {
  using home = new SessionHome(session);
  const terminals: SignalSources['terminals'] = {
    terminal: () => terminal,
    request: async () => ({ text: screen }) as never,
  };
  return await readSignals(home.context, home.session, {
    terminals,
    events: [],
    transcript: new Feed(home.context, 's').transcript,
    registry: new SharedRegistry(home.clock),
    rebooted,
  });
}

const status = (state: 'idle' | 'working' | 'done' | 'error'): KnownTerminal => ({
  kind: 'known',
  info: { ...INFO, status: [{ state, at: 950_000 }] },
});
const exited = (exitCode: number | null, signal: string | null): KnownTerminal => ({
  kind: 'known',
  info: { ...INFO, exited: { exitCode, signal, at: 990_000 } },
});

describe('an agent', () => {
  it('of whose terminal nothing is known stays as it was', async () => {
    expect(await read({ terminal: { kind: 'unknown' } })).toBeUndefined();
  });

  it('that runs is active, and at work when it says so', async () => {
    expect(await read({ terminal: status('working') })).toMatchObject({ agent: 'working', life: 'active' });
  });

  it('starts until it is at its prompt', async () => {
    const session = { life: 'starting' } as const;
    expect(
      await read({ session, terminal: { kind: 'known', info: { ...INFO, startedAt: 999_000 } } }),
    ).toMatchObject({
      life: 'starting',
    });
    expect(await read({ session, terminal: status('idle') })).toMatchObject({ life: 'active' });
  });

  it('that ended by itself sleeps, and with a failure needs the person', async () => {
    expect(await read({ terminal: exited(0, null) })).toMatchObject({ agent: 'ended', life: 'sleeping' });
    const failed = await read({
      terminal: exited(97, null),
      screen: ['Fairlead: the worktree is gone', '──────', '', ''],
    });
    expect(failed).toMatchObject({ agent: 'needs-you', life: 'sleeping', takesPrompts: false });
    expect(failed?.reason).toMatchObject({ kind: 'agent-ended' });
    expect(failed?.reason?.message).toContain('Fairlead: the worktree is gone');
    expect((await read({ terminal: exited(null, 'SIGKILL') }))?.reason?.message).toContain('SIGKILL');
  });

  it('whose terminal is gone needs the person', async () => {
    expect(await read({ terminal: { kind: 'gone' } })).toMatchObject({
      reason: { kind: 'terminal-lost' },
      life: 'sleeping',
      since: 1_000_000,
    });
    const lost = await read({
      session: { life: 'sleeping', since: 5, reason: { kind: 'terminal-lost', message: '' } },
      terminal: { kind: 'gone' },
    });
    expect(lost).toMatchObject({ reason: { kind: 'terminal-lost' }, since: 5 });
  });

  it('that had ended before its terminal was gone stays as it was', async () => {
    const session = { life: 'sleeping', agent_fact: 'ended' } as const;
    expect(await read({ session, terminal: { kind: 'gone' } })).toBeUndefined();
    const reason = { kind: 'agent-ended', message: '' } as const;
    expect(await read({ session: { ...session, reason }, terminal: { kind: 'gone' } })).toBeUndefined();
  });

  it('sleeps after the machine was started anew, unless it was in a turn', async () => {
    const rebooted = (agent_fact: SessionRecord['agent_fact']) =>
      read({ session: { agent_fact }, terminal: { kind: 'gone' }, rebooted: true });
    expect(await rebooted('finished')).toMatchObject({ agent: 'ended', life: 'sleeping' });
    expect(await rebooted('working')).toMatchObject({ reason: { kind: 'terminal-lost' } });
    expect(await rebooted('needs-you')).toMatchObject({ reason: { kind: 'terminal-lost' } });
  });

  it('takes prompts after an error, though the person is needed', async () => {
    expect(await read({ terminal: status('error') })).toMatchObject({
      reason: { kind: 'api-error' },
      takesPrompts: true,
    });
  });
});
