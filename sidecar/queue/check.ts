import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { copyFiles } from '../environments/copies.ts';
import type { Repository } from '../git/repository.ts';
import { registrationOf } from '../git/worktrees.ts';
import { runGroup } from '../platform/process-group.ts';
import { messageOf } from '../protocol/errors.ts';
import type { QueueContext } from './context.ts';

/** The result of a check command. Anything that is neither its yes nor its no is infrastructure. */
export type CheckResult =
  | { kind: 'green' }
  | { kind: 'red'; message: string; log: string }
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

/**
 * Runs a check in a clean worktree of exactly this commit, made for it and removed after it.
 * Exit 0 is green; 126 and 127 (the shell could not run it) and ends by signal are infrastructure; all else is red.
 */
export async function runCheck(
  context: QueueContext,
  repository: Repository,
  check: Check,
  signal: AbortSignal,
): Promise<CheckResult> {
  const folder = join(context.paths.worktrees, '.checks', check.name);
  const logs = join(context.paths.logs, 'checks');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = join(logs, `${check.name}.log`);
  try {
    await removeCheckout(repository, folder);
    await repository.git.run([
      'worktree',
      'add',
      '--quiet',
      '--detach',
      '--lock',
      '--reason',
      'Fairlead check',
      '--',
      folder,
      check.commit,
    ]);
    if (repository.mainCheckout !== undefined) await copyFiles(repository, folder, check.copy);
    const output = createWriteStream(log, { mode: 0o600 });
    const end = await runGroup(check.command, {
      cwd: folder,
      env: { ...check.environment, CI: '1', FAIRLEAD_CHECK: '1' },
      output,
      timeoutMs: check.timeoutMs,
      signal,
    });
    output.end();
    await finished(output);
    switch (end.kind) {
      case 'cancelled':
        return { kind: 'cancelled' };
      case 'timed-out':
        return {
          kind: 'infrastructure',
          message: `The check took longer than ${Math.round(check.timeoutMs / 60_000)} minutes (log: ${log}).`,
        };
      case 'not-started':
        return { kind: 'infrastructure', message: `The check did not start: ${end.message}` };
      case 'killed':
        return { kind: 'infrastructure', message: `The check was ended by ${end.signal} (log: ${log}).` };
      case 'exited':
        if (end.code === 0) return { kind: 'green' };
        if (end.code === 126 || end.code === 127) {
          return {
            kind: 'infrastructure',
            message: `The check command cannot be run (exit ${end.code}): ${check.command}`,
          };
        }
        return { kind: 'red', message: `\`${check.command}\` ended with ${end.code} (log: ${log}).`, log };
    }
  } catch (error) {
    return { kind: 'infrastructure', message: messageOf(error) };
  } finally {
    await removeCheckout(repository, folder).catch((error: unknown) =>
      context.log.warn('worktree of a check not removed', { folder, error: messageOf(error) }),
    );
  }
}

/** Removes the worktree of a check, whatever state it is in: it holds no work. */
async function removeCheckout(repository: Repository, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const registration = registrationOf(repository.commonDir, folder);
  if (registration !== undefined) rmSync(registration, { recursive: true, force: true });
}
