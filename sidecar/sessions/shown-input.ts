import type { Reason } from '../protocol/reason.ts';

/** Characters of the JSON of a tool's input that is kept with a session and told to every client at each change. */
export const MAX_SHOWN = 64 * 1024;

/** The reason as it is kept and told: the input of a tool may have megabytes. Of one that is cut the shape stays. Pure. */
export function shownReason(reason: Reason): Reason {
  const options = reason.options?.slice(0, MAX_OPTIONS);
  const bounded = options === undefined ? reason : { ...reason, options };
  if (bounded.input === undefined || sizeOf(bounded.input) <= MAX_SHOWN) return bounded;
  for (let most = 16_384; most >= 16; most /= 4) {
    const input = cut(bounded.input, { characters: most, members: Math.max(4, most / 64), depth: 8 });
    if (sizeOf(input) <= MAX_SHOWN) return { ...bounded, input, truncated: true };
  }
  return { ...bounded, input: null, truncated: true };
}

const MAX_OPTIONS = 100;

interface Limits {
  characters: number;
  members: number;
  depth: number;
}

function cut(value: unknown, limits: Limits): unknown {
  if (typeof value === 'string') return shorten(value, limits.characters);
  if (typeof value !== 'object' || value === null) return value;
  if (limits.depth === 0) return '…';
  const inner = { ...limits, depth: limits.depth - 1 };
  if (Array.isArray(value)) return value.slice(0, limits.members).map((each) => cut(each, inner));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, limits.members)
      .map(([name, each]) => [shorten(name, limits.characters), cut(each, inner)]),
  );
}

function shorten(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters)}…`;
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
