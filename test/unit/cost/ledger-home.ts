import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger, type LedgerRead } from '../../../sidecar/cost/ledger.ts';
import { type Prices, pricesWith } from '../../../sidecar/cost/prices.ts';
import { MIGRATIONS } from '../../../sidecar/platform/migrations.ts';
import { Store } from '../../../sidecar/platform/store.ts';
import { SCANNER } from '../../support/scanner.ts';

export const PRICES = pricesWith();

/** A folder with a store in it; transcripts go beside it. */
export class LedgerHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-cost-'));
  store: Store;
  ledger: Ledger;

  constructor() {
    this.store = Store.open(join(this.folder, 'state.db'), MIGRATIONS);
    this.ledger = Ledger.open(this.store, PRICES);
    this.store.run("INSERT INTO environment (id, variables) VALUES ('e', '{}')");
    this.store.run(
      "INSERT INTO repository (id, common_dir, main, created_at) VALUES ('r', '/r/.git', '/r', 0)",
    );
  }

  read(paths: readonly string[]): Promise<LedgerRead> {
    return this.ledger.read(paths, SCANNER);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** A session and the agent sessions that it has had, as `[id, startedAt]`. */
  addSession(session: string, agentSessions: readonly [string, number][]): void {
    this.store.run(
      `INSERT INTO session (id, title, repository, branch, base, base_commit, worktree, agent, environment,
         agent_fact, landing, life, since, created_at, changed_at)
       VALUES (:session, '', 'r', :session, 'main', '', '/w', 'claude', 'e', 'idle', 'none', 'active', 0, 0, 0)`,
      { session },
    );
    for (const [ordinal, [id, startedAt]] of agentSessions.entries()) {
      this.store.run(
        `INSERT INTO agent_session (session, ordinal, id, started_at) VALUES (:session, :ordinal, :id, :startedAt)`,
        { session, ordinal, id, startedAt },
      );
    }
  }

  addTurn(session: string, n: number, startedAt: number, endedAt: number | null): void {
    this.store.run(
      `INSERT INTO turn (session, n, agent_session, event, prompt, outcome, started_at, ended_at)
       VALUES (:session, :n, '', :n, '', 'done', :startedAt, :endedAt)`,
      { session, n, startedAt, endedAt },
    );
  }

  /** As a process that starts again finds it. */
  restart(): void {
    this.store.close();
    this.store = Store.open(join(this.folder, 'state.db'), MIGRATIONS);
    this.ledger = Ledger.open(this.store, PRICES);
  }

  /** As a process finds it that was built with another price table. */
  async priceWith(prices: Prices): Promise<void> {
    this.ledger = Ledger.open(this.store, prices);
    await this.ledger.catchUp(async () => {});
  }

  remove(): void {
    this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
