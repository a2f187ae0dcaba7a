import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../sidecar/platform/clock.ts';
import { readConfig } from '../../../sidecar/platform/config.ts';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import type { Log } from '../../../sidecar/platform/log.ts';
import { MIGRATIONS } from '../../../sidecar/platform/migrations.ts';
import { pathsFor } from '../../../sidecar/platform/paths.ts';
import { Store } from '../../../sidecar/platform/store.ts';
import type { SessionContext } from '../../../sidecar/sessions/context.ts';
import { FleetEvents } from '../../../sidecar/sessions/events.ts';
import type { PromptRecord, SessionRecord } from '../../../sidecar/sessions/record.ts';
import { SessionTable } from '../../../sidecar/sessions/table.ts';
import { SCANNER } from '../../support/scanner.ts';

/** Time that passes only when a test says so. */
export class StillClock implements Clock {
  time = 1_000_000;
  now(): number {
    return this.time;
  }
  monotonic(): number {
    return this.time;
  }
  after(): () => void {
    return () => {};
  }
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A store with one session in it, and the context in which its parts work. */
export class SessionHome implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-sessions-'));
  readonly store = Store.open(join(this.folder, 'state.db'), MIGRATIONS);
  readonly table = new SessionTable(this.store);
  readonly clock = new StillClock();
  readonly context: SessionContext = {
    table: this.table,
    events: new FleetEvents(this.store, this.clock),
    clock: this.clock,
    ids: systemIds,
    log: SILENT,
    paths: pathsFor({ FAIRLEAD_HOME: this.folder }),
    transcripts: SCANNER,
    configFor: () => readConfig(join(this.folder, 'config.toml')),
    networkEnvironment: () => ({}),
  };

  constructor(session: Partial<SessionRecord> = {}) {
    const { main, worktree, gitDir } = this.#place();
    const repository = this.table.repositoryOf(join(main, '.git'), main, 'r', 0);
    this.table.insert({
      id: 's',
      family: 's',
      key: null,
      title: 'A session',
      repository: repository.id,
      branch: 'fairlead/a-session',
      base: 'main',
      base_commit: '0'.repeat(40),
      remote: null,
      worktree,
      git_dir: gitDir,
      folder: '',
      agent: 'claude',
      model: null,
      mode: null,
      environment: this.table.keepEnvironment({ HOME: this.folder }),
      bring_changes: false,
      starts: true,
      request: null,
      terminal: 't',
      shell: null,
      agent_fact: 'idle',
      landing: 'none',
      life: 'active',
      reason: null,
      demand: null,
      need: 0,
      outcome: null,
      since: 0,
      unread: false,
      parent: null,
      fork_turn: null,
      created_at: 0,
      changed_at: 0,
      archived_at: null,
      ...session,
    });
  }

  /** The files by which a worktree and its repository know each other; no git is needed for that. */
  #place(): { main: string; worktree: string; gitDir: string } {
    const main = join(this.folder, 'r');
    const worktree = join(this.folder, 'w');
    const gitDir = join(main, '.git', 'worktrees', 'w');
    for (const folder of [gitDir, worktree]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(main, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/fairlead/a-session\n');
    writeFileSync(join(gitDir, 'gitdir'), `${worktree}/.git\n`);
    writeFileSync(join(worktree, '.git'), `gitdir: ${gitDir}\n`);
    return { main, worktree, gitDir };
  }

  get session(): SessionRecord {
    return this.table.get('s');
  }

  /** Turns as `[prompt, outcome, answer]`. */
  get turns(): (string | null)[][] {
    return this.table.turns('s').map(({ prompt, outcome, answer }) => [prompt, outcome, answer]);
  }

  addPrompt(id: string, text: string, fields: Partial<PromptRecord> = {}): void {
    this.table.addPrompt({
      id,
      session: 's',
      text,
      state: 'waiting',
      via: 'paste',
      tries: 0,
      created_at: this.clock.now(),
      sent_at: null,
      confirmed_at: null,
      request: null,
      ...fields,
    });
  }

  [Symbol.dispose](): void {
    this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
