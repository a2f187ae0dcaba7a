import { describe, expect, it } from 'vitest';
import type { Finding, SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import { prompt } from '../support/model/story.ts';
import { turnsOf } from '../support/session-faults.ts';
import { World } from '../support/world.ts';

const TIMEOUT = { timeout: 240_000 };
/** Less than a person waits before they think that nothing happens. */
const SOON = { timeoutMs: 30_000 };

describe('a daemon that does not answer', () => {
  it('is named, with what ends it, when it is the sidecar', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt('Begin')).says('I work.').hangs();
    const { id } = await world.start('Begin');
    await world.fairlead.until(id, ({ state }) => state === 'working');
    const pid = await world.fairlead.sidecarPid();
    // Also when it is stopped while somebody waits for it.
    const waiting = world.fairlead.error(['wait', id, '--for', 'finished'], SOON);
    await world.fairlead.until(id, ({ state }) => state === 'working');
    process.kill(pid, 'SIGSTOP');
    try {
      const errors = await Promise.all([
        waiting,
        ...['ls', 'down', 'status'].map((command) => world.fairlead.error([command], SOON)),
      ]);
      for (const error of errors) {
        expect(error).toMatchObject({ code: 'daemon.not-answering', exit: 1 });
        expect(error.message).toContain(String(pid));
        expect(error.hint).toContain(`kill -9 ${pid}`);
      }
      const doctor = await world.fairlead.run(['doctor', '--json'], SOON);
      expect(doctor.code).toBe(1);
      const findings = JSON.parse(doctor.stdout) as Finding[];
      expect(findings.find(({ check }) => check === 'sidecar')).toMatchObject({
        state: 'problem',
        hint: expect.stringContaining(`kill -9 ${pid}`),
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect((await world.fairlead.show(id)).state).toBe('working');
  });

  it(
    'keeps no sidecar from serving when it is the ptyhost, and everything goes on when that does',
    TIMEOUT,
    async () => {
      await using world = await World.open();
      world.model.when(prompt('Begin')).says('Begun.');
      world.model.when(prompt('Go on')).says('Gone on.');
      const { id } = await world.start('Begin');
      await world.finished(id);
      const pid = await world.fairlead.ptyhostPid();
      if (pid === undefined) throw new Error('no ptyhost');
      process.kill(pid, 'SIGSTOP');
      try {
        const said = { code: 'daemon.not-answering', message: expect.stringContaining(String(pid)) };
        // Kept, and said why it is not there yet.
        const sent = await world.fairlead.run(['send', id, 'Go on'], SOON);
        expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining(String(pid)) });
        const unknown = await world.needsYou(id);
        expect(unknown.reason?.message).toContain(String(pid));
        expect(unknown.facts.life).toBe('active');
        expect(await world.fairlead.error(['stop', id], SOON)).toMatchObject(said);
        const status = await world.fairlead.json<SidecarStatus>(['status'], SOON);
        expect(status.ptyhostFault).toContain(String(pid));
        expect(await world.fairlead.json(['down'], SOON)).toMatchObject({ stopped: true });

        // Another one serves, and says the same.
        expect(await world.fairlead.json<unknown[]>(['ls'], SOON)).toHaveLength(1);
        const doctor = await world.fairlead.run(['doctor', '--json'], SOON);
        const findings = JSON.parse(doctor.stdout) as Finding[];
        await world.needsYou(id);
        expect(findings.find(({ check }) => check === 'ptyhost')?.state).not.toBeUndefined();
        expect(await world.fairlead.error(['down', '--all'], SOON)).toMatchObject(said);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      const back = await world.fairlead.until(id, ({ reason }) => reason?.kind !== 'unknown');
      expect(back).toMatchObject({ facts: { life: 'active' } });
      await world.fairlead.until(id, ({ turns, state }) => turns === 2 && state === 'finished');
      expect(await turnsOf(world, id)).toEqual([
        ['Begin', 'done'],
        ['Go on', 'done'],
      ]);
    },
  );
});
