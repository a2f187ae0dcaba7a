import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import type { SessionStep } from '../../../sidecar/sessions/context.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { prepareClaude } from '../../support/claude.ts';
import { PtyHostHarness } from '../../support/ptyhost.ts';
import { TestRepository } from '../../support/repository.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

function newFleet(home: SessionHome, terminals: TerminalHost): Fleet {
  return new Fleet(home.context, terminals, Ledger.open(home.store, pricesWith()), {
    queueEntry: () => null,
    lastLanding: () => null,
    changed: () => {},
  });
}

/** A repository and a fleet; its ptyhost cannot be started unless one is given. */
class Person implements Disposable {
  readonly repository = TestRepository.with({ 'README.md': '# Demo\n' });
  readonly home = new SessionHome();
  readonly environment: Record<string, string>;
  readonly fleet: Fleet;
  /** What happens before the ptyhost is not started. */
  before: () => void = () => {};
  /** What happens at the points between two effects. */
  step: (name: SessionStep) => void = () => {};

  constructor(connect?: () => Promise<PtyHostClient>, { trusted = true } = {}) {
    const { repository, home } = this;
    home.table.remove('s');
    const { env } = prepareClaude({
      home: `${repository.root}/home`,
      modelUrl: 'http://127.0.0.1:9',
      trusted: trusted ? [repository.folder] : [],
    });
    // An agent that does nothing.
    const programs = join(repository.root, 'programs');
    mkdirSync(programs);
    writeFileSync(
      join(programs, 'claude'),
      '#!/bin/sh\n[ "$1" = --version ] && echo 9.9.9 && exit 0\nexec sleep 1000\n',
      { mode: 0o755 },
    );
    this.environment = { ...env, ...repository.environment, PATH: `${programs}:${env.PATH}` };
    home.context.step = (name) => this.step(name);
    const terminals = new TerminalHost(async () => {
      this.before();
      if (connect !== undefined) return connect();
      throw new FairleadError('daemon.spawn-failed', 'No.');
    }, SILENT);
    this.fleet = newFleet(home, terminals);
  }

  new(
    request: { key?: string; start?: boolean; prompt?: string; attempts?: number } = {},
    revoked = new AbortController().signal,
    signal = revoked,
  ) {
    const { folder } = this.repository;
    return this.fleet.create(
      { folder, start: true, attempts: 1, bringChanges: false, ...request },
      this.environment,
      { signal, revoked },
    );
  }

  /** A fleet as a later sidecar has it. */
  next(connect: () => Promise<PtyHostClient>): Fleet {
    const { home } = this;
    this.fleet.stop();
    return newFleet(home, new TerminalHost(connect, SILENT));
  }

  get branches(): string {
    return this.repository.git('branch', '--list', 'fairlead/*');
  }

  [Symbol.dispose](): void {
    this.fleet.stop();
    this.home[Symbol.dispose]();
    this.repository[Symbol.dispose]();
  }
}

describe('a session whose agent cannot be started', () => {
  let person: Person;
  beforeEach(() => {
    person = new Person();
  });
  afterEach(() => person[Symbol.dispose]());

  it('leaves neither branch nor worktree', async () => {
    await expect(person.new({ prompt: 'Work' })).rejects.toMatchObject({ code: 'daemon.spawn-failed' });
    expect(person.home.table.list({ archived: true })).toEqual([]);
    expect(person.branches).toBe('');
    expect(person.repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('stays to be seen when branch and worktree cannot be taken back', async () => {
    const { folder } = person.repository;
    person.before = () => {
      if (existsSync(folder)) renameSync(folder, `${folder}.away`);
    };
    await expect(person.new({ prompt: 'Work' })).rejects.toMatchObject({ code: 'daemon.spawn-failed' });
    renameSync(`${folder}.away`, folder);
    const [session] = person.fleet.list({ archived: false });
    expect(session).toMatchObject({ state: 'needs-you', reason: { kind: 'start-failed' } });
    expect(person.branches).toContain(session?.branch);
    expect(person.fleet.isAnyInTurn()).toBe(false);
    expect(existsSync(session?.worktree ?? '')).toBe(true);
  });

  it('is in no turn while it waits for the person to let it start', async () => {
    const { session } = await person.new({ start: false, prompt: 'Work' });
    const demand = { kind: 'trust', message: 'Do you trust it?' } as const;
    person.home.table.update(session.id, { life: 'starting', git_dir: null, demand });
    expect(person.fleet.isInTurn(session.id)).toBe(false);
    person.home.table.update(session.id, { demand: null });
    expect(person.fleet.isInTurn(session.id)).toBe(true);
  });
});

describe('a session that is archived while it is made', () => {
  it('is made first, so that nothing of it is left', async () => {
    using person = new Person();
    let archiving: Promise<unknown> | undefined;
    person.step = (name) => {
      const [half] = person.home.table.list({ archived: false });
      if (name === 'worktree-made') archiving = person.fleet.archive(half?.id ?? '');
    };
    const { session } = await person.new({ start: false, prompt: 'Work' });
    await archiving;
    expect(person.fleet.show(session.id)).toMatchObject({ state: 'archived' });
    expect(existsSync(session.worktree)).toBe(false);
    expect(person.repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('is as it was when that is taken back before its agent is ended, and archived when it is not', async () => {
    using person = new Person();
    const { session } = await person.new({ start: false, prompt: 'Work' });
    const archive = (taken: string) => {
      const revoked = new AbortController();
      const report = (what: string) => {
        if (what === taken) revoked.abort(new FairleadError('cancelled', 'Cancelled.'));
      };
      return person.fleet.archive(session.id, report, revoked.signal);
    };
    await expect(archive('Looking for what is not saved')).rejects.toMatchObject({ code: 'cancelled' });
    expect(person.fleet.show(session.id)).not.toMatchObject({ state: 'archived' });
    expect(existsSync(session.worktree)).toBe(true);
    expect(await archive('Removing the worktree')).toMatchObject({ state: 'archived' });
    expect(existsSync(session.worktree)).toBe(false);
  });

  it('is missing when it could not be made', async () => {
    using person = new Person();
    let archiving: Promise<unknown> | undefined;
    person.step = (name) => {
      const [half] = person.home.table.list({ archived: false });
      if (name === 'worktree-made') {
        archiving = person.fleet.archive(half?.id ?? '');
        archiving.catch(() => {});
      }
    };
    await expect(person.new({ prompt: 'Work' })).rejects.toMatchObject({ code: 'daemon.spawn-failed' });
    await expect(archiving).rejects.toMatchObject({ code: 'session.missing' });
    expect(person.branches).toBe('');
  });
});

describe('an agent that is started again', () => {
  let ptyhost: PtyHostHarness;
  let person: Person;
  beforeEach(() => {
    ptyhost = new PtyHostHarness();
    person = new Person(() => ptyhost.client());
  });
  afterEach(async () => {
    person[Symbol.dispose]();
    await ptyhost.end();
  });

  it('does not answer what the person is needed for', async () => {
    const { session } = await person.new({ start: false });
    const demand = { kind: 'conflict', message: 'a.txt' } as const;
    person.home.table.update(session.id, { demand });
    expect(await person.fleet.resume(session.id)).toMatchObject({ state: 'needs-you', reason: demand });
    expect(person.home.table.get(session.id)).toMatchObject({ demand });
  });

  it('has answered that it could not be started', async () => {
    const { session } = await person.new({ start: false });
    person.home.table.update(session.id, { demand: { kind: 'start-failed', message: 'No.' } });
    expect(await person.fleet.resume(session.id)).toMatchObject({ state: 'starting', reason: null });
    expect(person.home.table.get(session.id).demand).toBeNull();
  });
});

describe('a prompt', () => {
  it('answers neither the question of trust nor that a worktree is missing', async () => {
    const ptyhost = new PtyHostHarness();
    const person = new Person(() => ptyhost.client(), { trusted: false });
    try {
      const { session } = await person.new({ prompt: 'Work' });
      expect(session).toMatchObject({ state: 'needs-you', reason: { kind: 'trust' } });
      const never = new AbortController().signal;
      const sent = await person.fleet.send(session.id, 'And this', { signal: never, revoked: never });
      expect(sent).toMatchObject({ session: { reason: { kind: 'trust' } }, confirmed: false });
      expect(session.need).not.toBeNull();
      expect(sent.session.need).toBe(session.need);
      expect(person.home.table.get(session.id).demand).toMatchObject({ kind: 'trust' });

      const demand = { kind: 'worktree-missing', message: 'It is gone.' } as const;
      person.home.table.update(session.id, { life: 'active', demand });
      const lost = { signal: AbortSignal.abort(), revoked: never };
      await person.fleet.send(session.id, 'And that', lost).catch(() => {});
      expect(person.home.table.get(session.id).demand).toEqual(demand);
    } finally {
      person[Symbol.dispose]();
      await ptyhost.end();
    }
  });
});

describe('an agent that is being ended', () => {
  it('may still write in its worktree until it has ended', async () => {
    const ptyhost = new PtyHostHarness();
    const person = new Person(() => ptyhost.client());
    try {
      const { session } = await person.new({ start: true });
      const seen: [string, string, boolean][] = [];
      person.step = (name) => {
        if (name === 'ending-stored' || name === 'agent-ended')
          seen.push([name, person.home.table.get(session.id).life, person.fleet.isInTurn(session.id)]);
      };
      await person.fleet.stopSession(session.id);
      expect(seen).toEqual([
        ['ending-stored', 'sleeping', true],
        ['agent-ended', 'sleeping', false],
      ]);
    } finally {
      person[Symbol.dispose]();
      await ptyhost.end();
    }
  });
});

describe('a key', () => {
  it('is given to one of two sessions that are made at once, and refused to the other', async () => {
    using person = new Person();
    const made = await Promise.allSettled([
      person.new({ start: false, key: 'k' }),
      person.new({ start: false, key: 'k' }),
    ]);
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(made.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'session.key-taken' },
    });
    expect(person.home.table.list({ archived: true })).toHaveLength(1);
  });
});

describe('a title', () => {
  it('stays one line that can be seen when it is changed', async () => {
    using person = new Person();
    const { session } = await person.new({ start: false });
    expect(person.fleet.rename(session.id, ' A\n\u001b[31mred\u0007 title').title).toBe('A red title');
    expect(() => person.fleet.rename(session.id, '\u001b[0m\n')).toThrow(
      expect.objectContaining({ code: 'params.invalid' }),
    );
    expect(person.fleet.show(session.id).title).toBe('A red title');
  });
});

describe('a session whose making is cancelled', () => {
  let ptyhost: PtyHostHarness;
  let person: Person;
  beforeEach(() => {
    ptyhost = new PtyHostHarness();
    person = new Person(() => ptyhost.client());
  });
  afterEach(async () => {
    person[Symbol.dispose]();
    await ptyhost.end();
  });

  const nothingIsLeft = async () => {
    expect(person.home.table.list({ archived: true })).toEqual([]);
    expect(person.branches).toBe('');
    expect(person.repository.git('worktree', 'list').split('\n')).toHaveLength(1);
    const client = await ptyhost.client();
    expect((await client.request('list', {})).terminals).toEqual([]);
  };

  it.each(['session-planned', 'worktree-made', 'launch-stored', 'terminal-made'] as const)(
    'leaves nothing, wherever it was: at %s',
    async (at) => {
      const cancelling = new AbortController();
      const cancelled = new FairleadError('cancelled', 'Cancelled.');
      person.step = (name) => name === at && cancelling.abort(cancelled);
      const made = person.new({ prompt: 'Work', attempts: 2 }, cancelling.signal);
      await expect(made).rejects.toMatchObject({ code: 'cancelled' });
      await nothingIsLeft();
    },
  );

  it('stays where somebody has worked in it', async () => {
    const cancelling = new AbortController();
    const { table } = person.home;
    let started = 0;
    let worked: string[] = [];
    person.step = (name) => {
      if (name !== 'terminal-made') return;
      started += 1;
      if (started < 4) return;
      const [prompted, written, committed, untouched] = table.list({ archived: false });
      if (!prompted || !written || !committed || !untouched) throw new Error('four attempts');
      worked = [prompted.id, written.id, committed.id].sort();
      table.openTurn({ session: prompted.id, agent_session: 'a', event: 'e', prompt: 'Work', started_at: 1 });
      writeFileSync(join(written.worktree, 'found.txt'), 'it\n');
      person.repository.at(committed.worktree).commit({ 'done.txt': 'it\n' }, 'Done');
      cancelling.abort(new FairleadError('cancelled', 'Cancelled.'));
    };
    await expect(person.new({ prompt: 'Work', attempts: 4 }, cancelling.signal)).rejects.toMatchObject({
      code: 'cancelled',
    });
    const left = table.list({ archived: true });
    expect(left.map(({ id }) => id).sort()).toEqual(worked);
    expect(left.every(({ life, worktree }) => life !== 'archived' && existsSync(worktree))).toBe(true);
    const { terminals } = await (await ptyhost.client()).request('list', {});
    expect(terminals.map(({ id }) => id).sort()).toEqual(left.map(({ terminal }) => terminal).sort());
  });

  it.each(['worktree-made', 'terminal-made'])('stays when it cannot be taken back: at %s', async (at) => {
    const cancelling = new AbortController();
    person.step = (name) => {
      if (name !== at) return;
      writeFileSync(join(person.repository.folder, '.git/refs/heads/fairlead/work.lock'), '');
      cancelling.abort(new FairleadError('cancelled', 'Cancelled.'));
    };
    await expect(person.new({ prompt: 'Work' }, cancelling.signal)).rejects.toMatchObject({
      code: 'cancelled',
    });
    const [left] = person.home.table.list({ archived: true });
    expect(left).toMatchObject({
      life: 'sleeping',
      archived_at: null,
      demand: { kind: 'start-failed', message: expect.stringContaining('work.lock') },
    });
  });

  it('leaves nothing while the remote is asked, and does not wait for it', async () => {
    const { repository } = person;
    repository.git('remote', 'add', 'origin', 'ssh://nobody@localhost/nowhere');
    repository.git('config', 'branch.main.remote', 'origin');
    repository.git('config', 'branch.main.merge', 'refs/heads/main');
    const asked = join(repository.root, 'asked');
    person.environment.GIT_SSH_COMMAND = `touch '${asked}'; exec sleep 1000; :`;
    const cancelling = new AbortController();
    const made = person.new({ prompt: 'Work' }, cancelling.signal);
    made.catch(() => {});
    await expect.poll(() => existsSync(asked), { timeout: 20_000 }).toBe(true);
    cancelling.abort(new FairleadError('cancelled', 'Cancelled.'));
    await expect(made).rejects.toMatchObject({ code: 'cancelled' });
    await nothingIsLeft();
  });
});

describe('sessions that nobody waits for while they are made', () => {
  let ptyhost: PtyHostHarness;
  let person: Person;
  beforeEach(() => {
    ptyhost = new PtyHostHarness();
    person = new Person(() => ptyhost.client());
  });
  afterEach(async () => {
    person[Symbol.dispose]();
    await ptyhost.end();
  });

  const started = () =>
    person.home.table.list({ archived: true }).map(({ terminal, life }) => [terminal !== null, life]);

  it.each(['session-planned', 'worktree-made', 'terminal-made'] as const)(
    'are made all the same, whenever the client is lost: at %s',
    async (at) => {
      const lost = new AbortController();
      person.step = (name) => name === at && lost.abort(new FairleadError('cancelled', 'The client left.'));
      const never = new AbortController().signal;
      const made = await person.new({ prompt: 'Work', attempts: 2 }, never, lost.signal);
      expect(made.attempts).toHaveLength(2);
      expect(started()).toEqual([
        [true, 'starting'],
        [true, 'starting'],
      ]);
    },
  );

  it.each(['session-planned', 'worktree-made', 'launch-stored', 'terminal-made'] as const)(
    'are kept for the next sidecar, whenever this one ends: at %s',
    async (at) => {
      const ending = new AbortController();
      person.step = (name) => name === at && ending.abort(new FairleadError('daemon.lost', 'Ending.'));
      await expect(person.new({ prompt: 'Work', attempts: 2 }, ending.signal)).rejects.toMatchObject({
        code: 'daemon.lost',
      });
      person.step = () => {};
      const fleet = person.next(() => ptyhost.client());
      try {
        await fleet.start();
        await expect.poll(started, { timeout: 10_000 }).toEqual([
          [true, 'starting'],
          [true, 'starting'],
        ]);
        // One piece of work at a time: each start has come to its end before.
        for (const { id } of fleet.list({ archived: true })) await fleet.stopSession(id);
      } finally {
        fleet.stop();
      }
    },
  );
});
