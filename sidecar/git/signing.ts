import { basename } from 'node:path';
import { cleanEnvironment } from '../platform/environment.ts';
import { FairleadError } from '../protocol/errors.ts';
import { systemChildren } from './children.ts';
import { type Git, gitFailure, tail, textOf } from './git.ts';

/** How long a signing program is asked for its reason, in milliseconds. */
const ASK_WITHIN_MS = 10_000;

const GENERIC = /gpg failed to sign the data|failed to write commit object|failed to sign/;

/** Whether git says that it could not sign. Sources: gpg-interface.c, builtin/commit.c. */
export function isSigningFailure(stderr: string): boolean {
  return /gpg failed to sign|failed to sign|needs to be (set|configured) for ssh signing|cannot run (gpg|ssh-keygen)|Couldn't (load|get|find) (public )?key|Load key /i.test(
    stderr,
  );
}

/**
 * The error for a commit that could not be signed, with the words of the program that was to sign it: git before 2.41
 * keeps those of gpg to itself, so it is asked once more, without asking the person.
 */
export async function signingFailure(
  git: Git,
  args: readonly string[],
  output: { exitCode: number | undefined; stderr: string },
): Promise<FairleadError> {
  const said = withoutStatus(output.stderr).filter((line) => !GENERIC.test(line));
  const words = said.length > 0 ? said : await askSigner(git);
  const why = words.join(' ').replace(/\s+/g, ' ').trim();
  return new FairleadError('git.signing-failed', `The commit could not be signed${why ? `: ${why}` : '.'}`, {
    hint: 'Unlock your signing key (or its agent), or see `git config --get-regexp "gpg|sign"`; then land again.',
    data: { stderr: output.stderr.trim() },
    cause: gitFailure(git.folder, args, output),
  });
}

async function askSigner(git: Git): Promise<string[]> {
  const format = await setting(git, 'gpg.format');
  if (format !== undefined && format !== 'openpgp') return [];
  const program = (await setting(git, 'gpg.openpgp.program')) ?? (await setting(git, 'gpg.program')) ?? 'gpg';
  const committer = await git.text(['var', 'GIT_COMMITTER_IDENT']);
  const key = (await setting(git, 'user.signingKey')) ?? committer.replace(/>.*$/, '>');
  const quiet = basename(program).startsWith('gpg2') || basename(program) === 'gpg';
  const args = [...(quiet ? ['--pinentry-mode=error'] : []), '--status-fd=2', '-bsau', key];
  const result = await (git.setup.children ?? systemChildren).run(program, args, {
    env: cleanEnvironment(git.setup.environment),
    input: 'why',
    timeoutMs: ASK_WITHIN_MS,
  });
  if (result.failure === 'not-found') return [`${program} is not there.`];
  if (result.failure === 'timed-out') return [`${program} gives no answer.`];
  // It signs by now: git's own words are all there is.
  if (result.exitCode === 0) return [];
  const words = withoutStatus(result.stderr);
  return words.length > 0 ? words : [`${program} says nothing and ends with ${result.exitCode}.`];
}

async function setting(git: Git, name: string): Promise<string | undefined> {
  const path = name.endsWith('program') ? ['--type=path'] : [];
  const output = await git.attempt(['config', ...path, '--get', name]);
  return output.exitCode === 0 && textOf(output) !== '' ? textOf(output) : undefined;
}

/** What is for people: without the lines that gpg writes for programs. */
function withoutStatus(stderr: string): string[] {
  return tail(stderr, 8)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('[GNUPG:]'));
}
