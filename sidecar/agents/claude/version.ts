import { compareVersions } from '../../platform/build.ts';
import type { Processes } from '../../platform/processes.ts';
import { FairleadError } from '../../protocol/errors.ts';

/**
 * Oldest `claude` that is let through: terminal, permission dialog and hooks work there as they are used here. What
 * docs/fidelity.md lists was seen with a newer one.
 */
export const OLDEST_CLAUDE = '2.1.197';

/** How it is installed, in one line. Source: https://code.claude.com/docs/en/setup, 2026-11-30. */
export const INSTALL_CLAUDE =
  'Install Claude Code: curl -fsSL https://claude.ai/install.sh | bash (https://code.claude.com/docs/en/setup has other ways)';

const ANSWER_WITHIN_MS = 15_000;

/** What `claude --version` says, as `2.1.332`. */
export type ClaudeVersion =
  | { kind: 'known'; version: string; text: string }
  /** It runs and says something else: a wrapper of the person's own. */
  | { kind: 'unknown'; text: string }
  | { kind: 'fails'; text: string };

/** Runs `program --version`, which takes some 20 ms. */
export async function claudeVersion(
  program: string,
  environment: Readonly<Record<string, string>>,
  processes: Processes,
): Promise<ClaudeVersion> {
  const result = await processes.run(program, ['--version'], {
    env: environment,
    timeoutMs: ANSWER_WITHIN_MS,
  });
  const text = result.stdout.toString('utf8').trim();
  // One that takes its time is not one that is broken.
  if (result.failure === 'timed-out') return { kind: 'unknown', text };
  if (result.exitCode !== 0) return { kind: 'fails', text: result.stderr.trim() || text };
  const version = /\b\d+\.\d+\.\d+\b/.exec(text)?.[0];
  return version === undefined ? { kind: 'unknown', text } : { kind: 'known', version, text };
}

export function isTooOld(version: string): boolean {
  return compareVersions(version, OLDEST_CLAUDE) < 0;
}

/**
 * One that does not say its version is believed to be new enough: what it then does shows in its terminal.
 * @throws FairleadError `agent.too-old`, `agent.missing` when it does not run at all
 */
export async function requireClaude(
  program: string,
  environment: Readonly<Record<string, string>>,
  processes: Processes,
): Promise<void> {
  const found = await claudeVersion(program, environment, processes);
  if (found.kind === 'fails') {
    throw new FairleadError('agent.missing', `${program} does not run: ${found.text}`, {
      hint: `Make sure that \`claude --version\` works in a terminal. ${INSTALL_CLAUDE}`,
    });
  }
  if (found.kind !== 'known' || !isTooOld(found.version)) return;
  throw new FairleadError(
    'agent.too-old',
    `claude ${found.version} is too old; ${OLDEST_CLAUDE} or newer is needed.`,
    {
      hint: 'Update it: claude update',
      data: { program, version: found.version, needed: OLDEST_CLAUDE },
    },
  );
}
