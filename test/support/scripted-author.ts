import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenQueue } from './open-queue.ts';

export interface AuthorPlace {
  session: string;
  worktree: string;
  environment: Readonly<Record<string, string>>;
}

/**
 * How it goes about it. `own-side`: it drops what the base has changed; `gives-up`: it aborts the merge; `nothing`: its
 * turn ends; `interrupted`: somebody ends its turn.
 */
export const MANNERS = ['resolves', 'own-side', 'gives-up', 'nothing', 'interrupted'] as const;
export type Manner = (typeof MANNERS)[number];

/** Stands in for an agent that resolves what it is asked to: each prompt is one turn, done at once. */
export class ScriptedAuthor {
  readonly #open: OpenQueue;
  readonly #place: AuthorPlace;

  constructor(open: OpenQueue, place: AuthorPlace) {
    this.#open = open;
    this.#place = place;
  }

  /** Takes the prompt that waits, if one does. Nothing is awaited: a queue that dies does not take its agent along. */
  act(how: Manner = 'resolves'): void {
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
    if (how === 'resolves' || how === 'own-side') this.#resolve(worktree, how);
    if (how === 'gives-up') this.#git('merge', '--abort');
    const outcome = how === 'interrupted' ? 'interrupted' : 'done';
    const end = { outcome, answer: null, endedAt: now } as const;
    table.closeTurn(session, table.turnCount(session), end);
    queue.tick();
  }

  /** Of each file in conflict the lines of both sides, or of its own. */
  #resolve(worktree: string, how: 'resolves' | 'own-side'): void {
    const paths = this.#git('diff', '--name-only', '--diff-filter=U').split('\n').filter(Boolean);
    for (const path of paths) {
      const file = join(worktree, path);
      if (existsSync(file)) writeFileSync(file, sidesOf(readFileSync(file, 'utf8'), how));
    }
    this.#git('add', '--all');
    this.#git('commit', '--quiet', '--no-edit');
  }

  /** What it says; one that fails has done nothing. */
  #git(...args: string[]): string {
    const { worktree, environment } = this.#place;
    return spawnSync('git', args, { cwd: worktree, env: environment, encoding: 'utf8' }).stdout;
  }
}

function sidesOf(text: string, how: 'resolves' | 'own-side'): string {
  let side: 'both' | 'mine' | 'before' | 'theirs' = 'both';
  return text
    .split(/(?<=\n)/)
    .filter((line) => {
      const mark = /^(<{7}|\|{7}|={7}|>{7})( |\n)/.exec(line)?.[1]?.[0];
      if (mark === '<') side = 'mine';
      else if (mark === '|') side = 'before';
      else if (mark === '=' && side !== 'both') side = 'theirs';
      else if (mark === '>') side = 'both';
      else return side === 'both' || side === 'mine' || (side === 'theirs' && how === 'resolves');
      return false;
    })
    .join('');
}
