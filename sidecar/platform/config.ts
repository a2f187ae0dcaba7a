import { parse, TomlError } from 'smol-toml';
import { LandMethod, LandTarget, Uncommitted } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { PermissionMode } from '../protocol/session.ts';
import * as z from '../protocol/zod.ts';
import { readTextFile } from './regular-file.ts';

/** A timer that is to wait longer than 2^31 - 1 milliseconds fires at once. Source: nodejs.org/api/timers.html. */
const MAX_MINUTES = 35_791;

/** What can be set for a repository. */
export const Config = z.strictObject({
  branch: z._default(
    z.partial(
      z.strictObject({
        /** Goes before the slug of a session's branch. */
        prefix: z.string().check(z.regex(/^[\w./-]*$/, 'letters, digits, dots, slashes and dashes')),
      }),
    ),
    {},
  ),
  worktree: z._default(
    z.partial(
      z.strictObject({
        /** Where worktrees are made: below Fairlead's home, beside the repository, or in its `.fairlead/worktrees`. */
        place: z.enum(['home', 'sibling', 'inside']),
        /** Files of the main checkout to copy, as gitignore patterns; replaces the default. */
        copy: z.array(z.string()),
      }),
    ),
    {},
  ),
  agent: z._default(
    z.partial(
      z.strictObject({
        mode: PermissionMode,
        model: z.string().check(z.minLength(1)),
        command: z.string().check(z.minLength(1)),
        /** Minutes after which an agent sleeps that has nothing to do and nobody at its terminal; 0: never. */
        sleepAfterMinutes: z.number().check(z.nonnegative(), z.lte(MAX_MINUTES)),
      }),
    ),
    {},
  ),
  land: z._default(
    z.partial(
      z.strictObject({
        to: LandTarget,
        method: LandMethod,
        /** Shell command that must succeed on the merged tree. */
        check: z.string().check(z.minLength(1)),
        checkMinutes: z.number().check(z.positive(), z.lte(MAX_MINUTES)),
        uncommitted: Uncommitted,
        /** Whether a conflict goes back to the agent that wrote the work; unless set, it does. */
        handBack: z.boolean(),
      }),
    ),
    {},
  ),
});
export type Config = z.infer<typeof Config>;

/** The person's own file, `<home>/config.toml`: for all repositories, and for single ones by their main checkout. */
export const PersonConfig = z.extend(Config, {
  repository: z._default(
    z.record(z.string().check(z.startsWith('/', 'the absolute path of a main checkout')), Config),
    {},
  ),
});
export type PersonConfig = z.infer<typeof PersonConfig>;

/** Keys that make something run, or pushed: what the repository's own file says of them is not the person's word. */
const PERSONAL = [
  ['agent', 'command'],
  ['land', 'check'],
  ['land', 'to'],
] as const;

/** Modes that ask as much as the default or more. Others write a repository too, agents among them. */
const SHARED_MODES: readonly PermissionMode[] = ['manual', 'plan'];

/** What holds for one repository. */
export interface JoinedConfig extends Config {
  /** Where to land by the repository's own file: weaker than any answer of the person. */
  suggestedTarget: LandTarget | undefined;
}

export const EMPTY_CONFIG: PersonConfig = PersonConfig.parse({});

/**
 * Reads the person's own file; a missing one is empty.
 * @throws FairleadError `config.invalid` with the file, the line or key, and what is expected
 */
export function readConfig(file: string): PersonConfig {
  return readFile(file, PersonConfig);
}

function readFile<Schema extends z.ZodMiniType>(file: string, schema: Schema): z.output<Schema> {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return schema.parse({});
    }
    throw invalid(file, messageOf(error), error);
  }
  return parseFile(text, file, schema);
}

/**
 * Reads `.fairlead/config.toml`, which a repository carries.
 * @throws FairleadError `config.invalid` also when it wants the agent to ask less than by default
 */
export function readRepositoryConfig(file: string): Config {
  const config = readFile(file, Config);
  const { mode } = config.agent;
  if (mode === undefined || SHARED_MODES.includes(mode)) return config;
  throw new FairleadError('config.invalid', `${file} cannot be used: [agent] mode ${mode} is refused.`, {
    hint: `Remove it there: a repository may not choose it. Give --mode ${mode}, or set it in config.toml in Fairlead's home, for all repositories or below [repository."/its/path".agent].`,
  });
}

/** @throws FairleadError as {@link readConfig} */
export function parseConfig(text: string, file: string): PersonConfig {
  return parseFile(text, file, PersonConfig);
}

function parseFile<Schema extends z.ZodMiniType>(
  text: string,
  file: string,
  schema: Schema,
): z.output<Schema> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const place = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : '';
    throw invalid(file, `it is not TOML${place}`, error);
  }
  const parsed = schema.safeParse(value);
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

/** Keys of the repository's own file that do nothing, because only the person may say them. Pure. */
export function withoutEffect({ agent, land }: Config): string[] {
  return [
    ...(agent.command === undefined ? [] : ['[agent] command']),
    ...(land.check === undefined ? [] : ['[land] check']),
    ...(land.uncommitted === 'commit' ? ['[land] uncommitted'] : []),
  ];
}

/**
 * What holds for the repository whose main checkout is `main`: what the person says for it wins over what they say for
 * all, and that over the repository's own file. What runs comes from the person alone, and `land.to` is theirs too.
 */
export function joinConfigs(person: PersonConfig, repository: Config, main: string): JoinedConfig {
  const shared: Config = structuredClone(repository);
  for (const [section, key] of PERSONAL) delete (shared[section] as Record<string, unknown>)[key];
  // Only to ask for more: to commit unasked is the person's word.
  if (shared.land.uncommitted === 'commit') delete shared.land.uncommitted;
  const own = person.repository[main];
  return {
    branch: { ...shared.branch, ...person.branch, ...own?.branch },
    worktree: { ...shared.worktree, ...person.worktree, ...own?.worktree },
    agent: { ...shared.agent, ...person.agent, ...own?.agent },
    land: { ...shared.land, ...person.land, ...own?.land },
    suggestedTarget: repository.land.to,
  };
}

function invalid(file: string, why: string, cause: unknown): FairleadError {
  return new FairleadError('config.invalid', `${file} cannot be used: ${why}.`, {
    hint: 'Correct the file, or remove the entry.',
    cause,
  });
}
