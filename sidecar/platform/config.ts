import { readFileSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { LandMethod, LandTarget } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { PermissionMode } from '../protocol/session.ts';

/** What a person may set, in `<home>/config.toml` for all repositories and in `.fairlead/config.toml` for one. */
export const Config = z.strictObject({
  branch: z
    .strictObject({
      /** Goes before the slug of a session's branch. */
      prefix: z.string().regex(/^[\w./-]*$/, 'letters, digits, dots, slashes and dashes'),
    })
    .partial()
    .default({}),
  worktree: z
    .strictObject({
      /** Where worktrees are made: below Fairlead's home, beside the repository, or in its `.fairlead/worktrees`. */
      place: z.enum(['home', 'sibling', 'inside']),
      /** Files of the main checkout to copy, as gitignore patterns; replaces the default. */
      copy: z.array(z.string()),
    })
    .partial()
    .default({}),
  agent: z
    .strictObject({ mode: PermissionMode, model: z.string().min(1), command: z.string().min(1) })
    .partial()
    .default({}),
  land: z
    .strictObject({
      to: LandTarget,
      method: LandMethod,
      /** Shell command that must succeed on the merged tree. */
      check: z.string().min(1),
      checkMinutes: z.number().positive(),
      uncommitted: z.enum(['commit', 'refuse']),
    })
    .partial()
    .default({}),
});
export type Config = z.infer<typeof Config>;

/** Keys that make something run: taken from the person's own file only, never from a repository. */
const RUNNABLE = [
  ['agent', 'command'],
  ['land', 'check'],
] as const;

/** A mode in which nobody is asked: a repository, which others write too, must not choose it for the person. */
const PERSONAL_MODE = 'bypassPermissions';

export const EMPTY_CONFIG: Config = Config.parse({});

/**
 * Reads one file; a missing one is empty.
 * @throws FairleadError `config.invalid` with the file, the line or key, and what is expected
 */
export function readConfig(file: string): Config {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return EMPTY_CONFIG;
    }
    throw invalid(file, messageOf(error), error);
  }
  return parseConfig(text, file);
}

/**
 * Reads the file that a repository carries.
 * @throws FairleadError `config.invalid` also when it wants the agent to run without asking
 */
export function readRepositoryConfig(file: string): Config {
  const config = readConfig(file);
  if (config.agent.mode !== PERSONAL_MODE) return config;
  throw new FairleadError(
    'config.invalid',
    `${file} cannot be used: [agent] mode ${PERSONAL_MODE} is refused.`,
    {
      hint: `Put it into config.toml in Fairlead's home, or give --mode ${PERSONAL_MODE}: a repository may not choose it.`,
    },
  );
}

export function parseConfig(text: string, file: string): Config {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const place = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : '';
    throw invalid(file, `it is not TOML${place}`, error);
  }
  const parsed = Config.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(file, parsed.error.issues.map(wordsOf).join('; '), parsed.error);
}

/** One fault of the file in words: `[worktree] place: one of home, sibling, inside`. */
function wordsOf(issue: z.core.$ZodIssue): string {
  const [section, ...keys] = issue.path.map(String);
  const where = section === undefined ? '' : `[${section}]${keys.length === 0 ? '' : ` ${keys.join('.')}`}`;
  const at = where === '' ? '' : `${where}: `;
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => (section === undefined ? `[${key}]` : key));
    return `${at}${names.join(', ')} is not known`;
  }
  if (issue.code === 'invalid_value') return `${at}it is one of ${issue.values.map(String).join(', ')}`;
  return `${at}${issue.message}`;
}

/** The person's own settings win over the repository's; what runs comes from the person's alone. */
export function joinConfigs(person: Config, repository: Config): Config {
  const shared: Config = structuredClone(repository);
  for (const [section, key] of RUNNABLE) delete (shared[section] as Record<string, unknown>)[key];
  return {
    branch: { ...shared.branch, ...person.branch },
    worktree: { ...shared.worktree, ...person.worktree },
    agent: { ...shared.agent, ...person.agent },
    land: { ...shared.land, ...person.land },
  };
}

function invalid(file: string, why: string, cause: unknown): FairleadError {
  return new FairleadError('config.invalid', `${file} cannot be used: ${why}.`, {
    hint: 'Correct the file, or remove the entry.',
    cause,
  });
}
