import { describe, expect, it } from 'vitest';
import { troubleOf, whyRemoteFailed } from '../../../sidecar/git/remote-trouble.ts';

const ALWAYS = `fatal: Could not read from remote repository.

Please make sure you have the correct access rights
and the repository exists.
`;

describe('why a remote failed', () => {
  it.each([
    [
      `fatal: '/srv/x.git' does not appear to be a git repository\n${ALWAYS}`,
      "there is no such repository: '/srv/x.git' does not appear to be a git repository",
    ],
    [`ERROR: Repository not found.\n${ALWAYS}`, 'there is no such repository: Repository not found'],
    [
      `Warning: Permanently added 'x' (ED25519) to the list of known hosts.\ngit@x: Permission denied (publickey).\n${ALWAYS}`,
      'it asks you to sign in: git@x: Permission denied (publickey)',
    ],
    [
      `ssh: Could not resolve hostname x: Name or service not known\n${ALWAYS}`,
      'it does not answer: ssh: Could not resolve hostname x: Name or service not known',
    ],
    [
      "fatal: unable to access 'https://x/y.git/': Could not resolve host: x\n",
      "it does not answer: unable to access 'https://x/y.git/': Could not resolve host: x",
    ],
    [ALWAYS, 'it does not answer'],
    ['fatal: something new\n', 'git failed: something new'],
    ['', 'git failed'],
  ])('is told by the line of git that names the cause: %j', (stderr, why) => {
    expect(whyRemoteFailed(troubleOf(stderr), stderr)).toBe(why);
  });
});
