import type { Ids } from '../platform/ids.ts';

const MAX_TITLE = 80;
const MAX_SLUG = 40;

/** The first line of a prompt that says something, cut at a word. */
export function titleOf(prompt: string | undefined): string {
  const line = (prompt ?? '')
    .split('\n')
    .map((each) => each.replace(/\s+/g, ' ').trim())
    .find((each) => /[\p{L}\p{N}]/u.test(each));
  if (line === undefined) return 'New session';
  if (line.length <= MAX_TITLE) return line;
  const cut = line.slice(0, MAX_TITLE);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), MAX_TITLE / 2))}…`;
}

/** Lower-case ASCII words joined by dashes, at most 40 characters; `session` when nothing is left. */
export function slugOf(title: string): string {
  const slug = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'session' : slug;
}

/** `slug`, else `slug-2`, `slug-3` …, else with a random ending: a generated name never fails. */
export async function freeName(
  slug: string,
  isTaken: (name: string) => Promise<boolean>,
  ids: Ids,
): Promise<string> {
  for (let n = 1; n <= 50; n += 1) {
    const name = n === 1 ? slug : `${slug}-${n}`;
    if (!(await isTaken(name))) return name;
  }
  return `${slug}-${ids.short(6)}`;
}
