import { existsSync, renameSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import type { SessionStep } from '../../../sidecar/sessions/context.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import { prepareClaude } from '../../support/claude.ts';
import { TestRepository } from '../../support/repository.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** A repository and a fleet whose ptyhost cannot be started. */
class Unstartable implements Disposable {
  readonly repository = TestRepository.with({ 'README.md': '# Demo\n' });
  readonly home = new SessionHome();
  readonly environment: Record<string, string>;
  readonly fleet: Fleet;
  /** What happens before the ptyhost is not started. */
  before: () => void = () => {};
  /** What happens at the points between two effects. */
  step: (name: SessionStep) => void = () => {};

  constructor() {
    const { repository, home } = this;
    home.table.remove('s');
    const { env } = prepareClaude({
      home: `${repository.root}/home`,
      modelUrl: 'http://127.0.0.1:9',
      trusted: [repository.folder],
    });
    this.environment = { ...env, ...repository.environment, PATH: env.PATH ?? '' };
    home.context.step = (name) => this.step(name);
    this.fleet = new Fleet(
      home.context,
      new TerminalHost(async () => {
        this.before();
        throw new FairleadError('daemon.spawn-failed', 'No.');
      }, SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
  }

  new(request: { key?: string; start?: boolean; prompt?: string } = {}) {
    const { folder } = this.repository;
    return this.fleet.create({ folder, start: true, bringChanges: false, ...request }, this.environment);
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
  let person: Unstartable;
  beforeEach(() => {
    person = new Unstartable();
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
    using person = new Unstartable();
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

  it('is missing when it could not be made', async () => {
    using person = new Unstartable();
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
