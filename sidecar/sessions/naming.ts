import { stripVTControlCharacters } from 'node:util';
import type { Ids } from '../platform/ids.ts';

const MAX_TITLE = 80;
const MAX_SLUG = 40;

/** The first line of a prompt that says something, cut at a word; `New session` when none does. */
export function titleOf(prompt: string | undefined): string {
  const line = (prompt ?? '')
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(oneLine)
    .find((each) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(each));
  return line === undefined ? 'New session' : cut(line, MAX_TITLE);
}

/** A title that a person gave, as one line; undefined when nothing of it can be seen. */
export function titleFrom(text: string | undefined): string | undefined {
  const line = oneLine(text ?? '');
  return line === '' ? undefined : cut(line, MAX_TITLE);
}

/** Without control and format characters, which a terminal would act on or nobody sees; white space is one space. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\s+/gu, ' ')
    .replace(/(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .trim();
}

/** Made at first use: that takes 8 ms. */
let characters: Intl.Segmenter | undefined;

/** At most `most` characters as people count them; what is cut ends at a word where one ends late enough. */
function cut(text: string, most: number): string {
  characters ??= new Intl.Segmenter();
  const all = Array.from(characters.segment(text), ({ segment }) => segment);
  if (all.length <= most) return text;
  const kept = all.slice(0, most - 1);
  const space = all[most - 1] === ' ' ? kept.length : kept.lastIndexOf(' ');
  return `${kept.slice(0, space > most / 2 ? space : kept.length).join('')}…`;
}

/**
 * Lower-case ASCII words joined by dashes, at most 40 characters; `session` when nothing is left. Any such name is a
 * branch that git takes, and a folder on every file system.
 */
export function slugOf(title: string): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (words.length <= MAX_SLUG) return words === '' ? 'session' : words;
  const cut = words.slice(0, MAX_SLUG + 1);
  const dash = cut.lastIndexOf('-');
  return cut.slice(0, dash > MAX_SLUG / 2 ? dash : MAX_SLUG);
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
