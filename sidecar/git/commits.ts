import { type Git, gitFailure, isTimeout, textOf } from './git.ts';
import { type Identity, identityVariables, type Person } from './identity.ts';
import { isSigningFailure, signingFailure } from './signing.ts';

/** How long a person may take to unlock their key, in milliseconds. */
const SIGN_WITHIN_MS = 120_000;
const NO_ANSWER = 'The key was not unlocked within two minutes.';

export interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  identity: Identity;
  /** Milliseconds since the epoch. */
  at: number;
  /** The author, where another than the person (a commit that is moved keeps its own). */
  author?: Person & { /** Raw: `1700000000 +0100`. */ date: string };
  /** Whether to sign it; see {@link signsCommits}. */
  sign: boolean;
}

/** Whether the person has their commits signed (`commit.gpgSign`). `commit-tree` does not look at it itself. */
export async function signsCommits(git: Git): Promise<boolean> {
  const output = await git.attempt(['config', '--type=bool', '--get', 'commit.gpgSign']);
  return output.exitCode === 0 && textOf(output) === 'true';
}

/**
 * Writes a commit; nothing points at it yet.
 * @returns its id
 * @throws FairleadError `git.failed`, `git.signing-failed`, `disk.full`
 */
export async function commitTree(git: Git, commit: NewCommit): Promise<string> {
  const args = [
    'commit-tree',
    ...(commit.sign ? ['-S'] : []),
    ...commit.parents.flatMap((parent) => ['-p', parent]),
    '-F',
    '-',
    commit.tree,
  ];
  const message = commit.message.endsWith('\n') ? commit.message : `${commit.message}\n`;
  const output = await git
    .attempt(args, {
      input: message,
      env: identityVariables(commit.identity, commit.at, commit.author),
      ...(commit.sign ? { timeoutMs: SIGN_WITHIN_MS } : {}),
    })
    .catch((error: unknown) => {
      if (!commit.sign || !isTimeout(error)) throw error;
      return { exitCode: undefined, stdout: Buffer.alloc(0), stderr: NO_ANSWER };
    });
  if (output.exitCode === 0) return textOf(output);
  if (commit.sign && (output.exitCode === undefined || isSigningFailure(output.stderr))) {
    throw await signingFailure(git, args, output);
  }
  throw gitFailure(git.folder, args, output);
}

export interface CommitInfo {
  id: string;
  tree: string;
  parents: string[];
  author: Person & { /** Raw: `1700000000 +0100`. */ date: string };
  /** Seconds since the epoch. */
  committedAt: number;
  subject: string;
  /** Subject and body, as written. */
  message: string;
}

/** Reads commits; `range` is anything that `git log` takes, newest first unless it says otherwise. */
export async function readCommits(git: Git, ...range: string[]): Promise<CommitInfo[]> {
  const fields = ['%H', '%T', '%P', '%an', '%ae', '%ad', '%ct', '%s', '%B'];
  const output = await git.run([
    'log',
    '-z',
    '--no-show-signature',
    '--no-color',
    '--no-decorate',
    '--no-notes',
    '--no-patch',
    '--no-mailmap',
    '--date=raw',
    `--format=tformat:${fields.join('%x01')}`,
    ...range,
  ]);
  return output.stdout
    .toString('utf8')
    .split('\0')
    .filter((record) => record !== '')
    .map((record) => {
      const [
        id = '',
        tree = '',
        parents = '',
        name = '',
        email = '',
        date = '',
        time = '',
        subject = '',
        ...body
      ] = record.split('\x01');
      return {
        id,
        tree,
        parents: parents === '' ? [] : parents.split(' '),
        author: { name, email, date },
        committedAt: Number(time),
        subject,
        message: body.join('\x01'),
      };
    });
}
