import { FairleadError } from '../protocol/errors.ts';
import { type Git, type GitOutput, textOf } from './git.ts';

export interface Person {
  name: string;
  email: string;
}

/** Who commits, as git is set up in one folder. */
export interface Identity {
  author: Person;
  committer: Person;
}

/**
 * The identity that the person set; one that git would guess from the machine does not count.
 * @throws FairleadError `git.no-identity` with the two commands that set it
 */
export async function readIdentity(git: Git): Promise<Identity> {
  const ask = (name: string) => git.attempt(['var', name], { config: { 'user.useConfigOnly': 'true' } });
  const [author, committer] = await Promise.all([ask('GIT_AUTHOR_IDENT'), ask('GIT_COMMITTER_IDENT')]);
  return { author: personOf(author), committer: personOf(committer) };
}

/** The six variables that make `commit-tree` independent of any configuration. `at` in milliseconds since the epoch. */
export function identityVariables(
  identity: Identity,
  at: number,
  author?: Person & { /** As git writes it raw: `1700000000 +0100`. */ date: string },
): Record<string, string> {
  const date = rawDate(at);
  return {
    GIT_AUTHOR_NAME: author?.name ?? identity.author.name,
    GIT_AUTHOR_EMAIL: author?.email ?? identity.author.email,
    GIT_AUTHOR_DATE: author === undefined ? date : `@${author.date}`,
    GIT_COMMITTER_NAME: identity.committer.name,
    GIT_COMMITTER_EMAIL: identity.committer.email,
    GIT_COMMITTER_DATE: date,
  };
}

/** `@1700000000 +0100`: seconds since the epoch (short numbers need the @) and the local offset at that time. */
function rawDate(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const sign = minutes < 0 ? '-' : '+';
  const hours = String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0');
  return `@${Math.floor(at / 1000)} ${sign}${hours}${String(Math.abs(minutes) % 60).padStart(2, '0')}`;
}

function personOf(output: GitOutput): Person {
  const match = output.exitCode === 0 ? /^(.*) <(.*)> \d+ [+-]\d+$/.exec(textOf(output)) : null;
  if (match?.[1] !== undefined && match[2] !== undefined && match[2] !== '') {
    return { name: match[1], email: match[2] };
  }
  throw new FairleadError('git.no-identity', 'git does not know who you are, so nothing can be committed.', {
    hint: 'Set it: git config --global user.name "Your Name" && git config --global user.email you@example.com',
    data: {
      commands: [
        'git config --global user.name "Your Name"',
        'git config --global user.email you@example.com',
      ],
    },
  });
}
