import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { copyFiles } from '../environments/copies.ts';
import type { Repository } from '../git/repository.ts';
import { discardFolder } from '../git/worktrees.ts';
import { type GroupEnd, runGroup } from '../platform/process-group.ts';
import { messageOf } from '../protocol/errors.ts';
import type { QueueContext } from './context.ts';
import { scratchFolders } from './scratch-folders.ts';

/** The result of a check command. Anything that is neither its yes nor its no is infrastructure. */
export type CheckResult =
  | { kind: 'green' }
  | { kind: 'red'; message: string }
  | { kind: 'infrastructure'; message: string }
  | { kind: 'cancelled' };

export interface Check {
  command: string;
  /** The commit whose tree is checked, and nothing else. */
  commit: string;
  environment: Readonly<Record<string, string>>;
  /** Gitignore patterns of files to copy from the main checkout; undefined for the default. */
  copy: string[] | undefined;
  timeoutMs: number;
  /** Names the worktree and the log. */
  name: string;
}

/** Ends of a program by its own fault. Whatever else ends it comes from outside. */
const CRASHES = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'];

/** Runs a check in a clean worktree of exactly this commit, made for it and removed after it. Never throws. */
export async function runCheck(
  context: QueueContext,
  repository: Repository,
  check: Check,
  signal: AbortSignal,
): Promise<CheckResult> {
  const folder = join(scratchFolders(context.paths).checks, check.name);
  const logs = join(context.paths.logs, 'checks');
  const log = join(logs, `${check.name}.log`);
  try {
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    await discardFolder(repository, folder);
    const reason = 'Fairlead checks here';
    await repository.git.run(
      ['worktree', 'add', '--quiet', '--detach', '--lock', '--reason', reason, '--', folder, check.commit],
      { config: { 'checkout.workers': '0' } },
    );
    await copyFiles(repository, folder, check.copy);
    const output = openSync(log, 'w', 0o600);
    try {
      const end = await runGroup(check.command, {
        cwd: folder,
        env: { ...check.environment, CI: '1', FAIRLEAD_CHECK: '1' },
        output,
        timeoutMs: check.timeoutMs,
        signal,
      });
      return judge(check, end, log);
    } finally {
      closeSync(output);
    }
  } catch (error) {
    return { kind: 'infrastructure', message: messageOf(error) };
  } finally {
    await discardFolder(repository, folder).catch((error: unknown) =>
      context.log.warn('worktree of a check not removed', { folder, error: messageOf(error) }),
    );
  }
}

/** Exit 0 is green; 126 and 127 say that the shell could not run it; any other is red. Pure. */
function judge(check: Check, end: GroupEnd, log: string): CheckResult {
  switch (end.kind) {
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'timed-out':
      return {
        kind: 'infrastructure',
        message: `The check took longer than ${span(check.timeoutMs)} (log: ${log}).`,
      };
    case 'not-started':
      return { kind: 'infrastructure', message: `The check did not start: ${end.message}` };
    case 'killed': {
      const message = `\`${check.command}\` was ended by ${end.signal} (log: ${log}).`;
      return { kind: CRASHES.includes(end.signal) ? 'red' : 'infrastructure', message };
    }
    case 'exited':
      if (end.code === 0) return { kind: 'green' };
      if (end.code === 126 || end.code === 127) {
        const message = `\`${check.command}\` cannot be run (exit ${end.code}, log: ${log}).`;
        return { kind: 'infrastructure', message };
      }
      return { kind: 'red', message: `\`${check.command}\` ended with ${end.code} (log: ${log}).` };
  }
}

function span(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`;
}
