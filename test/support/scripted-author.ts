import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenQueue } from './open-queue.ts';

export interface AuthorPlace {
  session: string;
  worktree: string;
  environment: Readonly<Record<string, string>>;
}

/** Stands in for an agent that resolves what it is asked to: each prompt is one turn, done at once. */
export class ScriptedAuthor {
  readonly #open: OpenQueue;
  readonly #place: AuthorPlace;
  /** What it makes of the file `shared`. */
  readonly #resolved: string;

  constructor(open: OpenQueue, place: AuthorPlace, resolved: string) {
    this.#open = open;
    this.#place = place;
    this.#resolved = resolved;
  }

  /** Takes the prompt that waits, if one does. Nothing is awaited: a queue that dies does not take its agent along. */
  act(): void {
    const { table, queue } = this.#open;
    const { session, worktree } = this.#place;
    const [prompt] = table.openPrompts(session);
    if (prompt === undefined) return;
    const now = Date.now();
    table.transaction(() => {
      table.updatePrompt(prompt.id, { state: 'confirmed', confirmed_at: now });
      const event = `turn for ${prompt.id}`;
      table.openTurn({ session, agent_session: 'c', event, prompt: prompt.text, started_at: now });
    });
    writeFileSync(join(worktree, 'shared'), this.#resolved);
    this.#git('add', 'shared');
    this.#git('commit', '--quiet', '--no-edit');
    const end = { outcome: 'done', answer: null, endedAt: now } as const;
    table.closeTurn(session, table.turnCount(session), end);
    queue.tick();
  }

  #git(...args: string[]): void {
    const { worktree, environment } = this.#place;
    execFileSync('git', args, { cwd: worktree, env: environment, stdio: 'ignore' });
  }
}
