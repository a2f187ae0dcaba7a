/** Why a remote did not answer. `failed` is anything unknown. */
export type RemoteTrouble = 'offline' | 'auth' | 'missing-repository' | 'failed';

const WHY: Record<RemoteTrouble, string> = {
  offline: 'it does not answer',
  auth: 'it asks you to sign in',
  'missing-repository': 'there is no such repository',
  failed: 'git failed',
};

/** What git says after every failure of this kind, and what leads to no cause. */
const SAYS_NOTHING =
  /^(Please make sure you have the correct access rights|and the repository exists\.|(fatal: )?Could not read from remote repository\.|fatal: the remote end hung up unexpectedly|error: failed to push some refs to .*|(warning|hint): .*|)$/i;

/** Pure: what the stderr of a git that could not talk to a remote means. */
export function troubleOf(stderr: string): RemoteTrouble {
  if (
    /Authentication failed|could not read (Username|Password)|Permission denied|Host key verification failed|terminal prompts disabled|Invalid username or (password|token)|returned error: 40[13]|Too many authentication failures|no such identity/i.test(
      stderr,
    )
  ) {
    return 'auth';
  }
  if (
    /Could not resolve|Connection (refused|timed out|reset|closed)|timed out|Network is unreachable|No route to host|Failed to connect|Couldn't connect|Temporary failure in name resolution|early EOF|unexpected disconnect|returned error: 5\d\d|SSL|gnutls/i.test(
      stderr,
    )
  ) {
    return 'offline';
  }
  if (
    /does not appear to be a git repository|repository .*not found|not found|No such remote|returned error: 404/i.test(
      stderr,
    )
  ) {
    return 'missing-repository';
  }
  if (/Could not read from remote repository|unable to access/i.test(stderr)) return 'offline';
  return 'failed';
}

/**
 * Why a remote failed, as a clause without a full stop: `there is no such repository: '/srv/x.git' does not appear to
 * be a git repository`. `text` is what git said; what it always says besides is left out. Pure.
 */
export function whyRemoteFailed(trouble: RemoteTrouble, text: string): string {
  const said = causeIn(text);
  return said === undefined ? WHY[trouble] : `${WHY[trouble]}: ${said}`;
}

/** The last line of git, or of what it ran, that names a cause; without a full stop. Pure. */
export function causeIn(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .findLast((line) => !SAYS_NOTHING.test(line))
    ?.replace(/^((fatal|error|remote): +)+/i, '')
    .replace(/\.$/, '');
}
