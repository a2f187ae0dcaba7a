import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import * as protocol from '../../../sidecar/protocol/protocol.ts';
import { Reason } from '../../../sidecar/protocol/reason.ts';
import { Session, Turn } from '../../../sidecar/protocol/session.ts';
import * as z from '../../../sidecar/protocol/zod.ts';

/** What of a JSON schema decides whether one side can read what the other sends. */
interface Shape {
  /** Name of one that is pinned by itself. */
  ref?: string | undefined;
  /** A name, or a list of them. */
  type?: unknown;
  enum?: unknown[] | undefined;
  const?: unknown;
  properties?: Record<string, Shape> | undefined;
  required?: string[] | undefined;
  items?: Shape | undefined;
  anyOf?: Shape[] | undefined;
  additionalProperties?: Shape | undefined;
}

const ShapeSchema: z.ZodMiniType<Shape> = z.lazy(() =>
  z.object({
    ref: z.optional(z.string()),
    type: z.optional(z.unknown()),
    enum: z.optional(z.array(z.unknown())),
    const: z.optional(z.unknown()),
    properties: z.optional(z.record(z.string(), ShapeSchema)),
    required: z.optional(z.array(z.string())),
    items: z.optional(ShapeSchema),
    anyOf: z.optional(z.array(ShapeSchema)),
    additionalProperties: z.catch(z.optional(ShapeSchema), undefined),
  }),
);

const Pinned = z.record(z.string(), ShapeSchema);

/** As it goes over the wire: a field with a default may be missing. */
function shapeOf(schema: z.ZodMiniType): Shape {
  return ShapeSchema.parse(z.toJSONSchema(schema, { io: 'input' }));
}

/** What many messages hold, the larger ones first. */
const NAMED = {
  Session,
  QueueEntry,
  Turn,
  Reason,
  FleetEvent: protocol.FleetEvent,
  CostRow: protocol.CostRow,
};

/** With a reference for each part that has a name. */
function referring(shape: Shape, names: ReadonlyMap<string, string>, isNamed = false): Shape {
  const ref = isNamed ? undefined : names.get(JSON.stringify(shape));
  if (ref !== undefined) return { ref };
  const { properties, items, anyOf, additionalProperties } = shape;
  const inner = (each: Shape) => referring(each, names);
  return {
    ...shape,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, inner(each)] as const),
      ),
    }),
    ...(items && { items: inner(items) }),
    ...(anyOf && { anyOf: anyOf.map(inner) }),
    ...(additionalProperties && { additionalProperties: inner(additionalProperties) }),
  };
}

/** Every message of the protocol, by its method and direction, and what they hold by its name. */
function shapes(): Record<string, Shape> {
  const names = new Map(
    Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(shapeOf(schema)), name]),
  );
  const found: [string, Shape][] = Object.entries(NAMED).map(([name, schema]) => [
    name,
    referring(shapeOf(schema), names, true),
  ]);
  const add = (name: string, schema: z.ZodMiniType) => found.push([name, referring(shapeOf(schema), names)]);
  for (const kind of Object.values(protocol)) {
    if (typeof kind !== 'object' || !('method' in kind)) continue;
    add(`${kind.method} params`, kind.params);
    if ('result' in kind) add(`${kind.method} result`, kind.result);
  }
  return Object.fromEntries(found.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What of `now` somebody who knows `pinned` only could not read, or would miss. */
function breaks(pinned: Shape | undefined, now: Shape | undefined, at: string): string[] {
  if (pinned === undefined && now === undefined) return [];
  if (now === undefined) return [`${at}: is gone`];
  if (pinned === undefined) return [`${at}: was anything before`];
  const found: string[] = [];
  for (const key of ['ref', 'type', 'enum', 'const'] as const) {
    const [was, is] = [JSON.stringify(pinned[key]), JSON.stringify(now[key])];
    if (was !== is) found.push(`${at}: ${key} was ${was}, is ${is}`);
  }
  for (const [name, shape] of Object.entries(pinned.properties ?? {})) {
    found.push(...breaks(shape, now.properties?.[name], `${at}.${name}`));
  }
  const [before = [], after = []] = [pinned.required, now.required];
  for (const name of after) {
    if (!before.includes(name)) found.push(`${at}.${name}: has to be there; it may be missing`);
  }
  for (const name of before) {
    if (!after.includes(name)) found.push(`${at}.${name}: may be missing; it has to be there`);
  }
  found.push(...breaks(pinned.items, now.items, `${at}[]`));
  found.push(...breaks(pinned.additionalProperties, now.additionalProperties, `${at}{}`));
  const count = Math.max(pinned.anyOf?.length ?? 0, now.anyOf?.length ?? 0);
  for (let index = 0; index < count; index += 1) {
    found.push(...breaks(pinned.anyOf?.[index], now.anyOf?.[index], `${at}|${index}`));
  }
  return found;
}

const WHAT_TO_DO = [
  'A sidecar and a client of different ages would no longer understand each other, though both say that they speak',
  'this version. Let the field be missing (.optional(), or .default(…) where its value follows from what else is',
  'known), or keep what was. Where neither will do, raise PROTOCOL_VERSIONS.newest and let both sides keep to the',
  'version that they have agreed on; the run of this test after that pins the version. Never edit a pinned file.',
].join('\n');

describe('a version of the protocol', () => {
  it('stays what it is', () => {
    const file = join(import.meta.dirname, `version-${protocol.PROTOCOL_VERSIONS.newest}.json`);
    const now = shapes();
    if (!existsSync(file)) {
      writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
      throw new Error(`This version was pinned to ${file}; commit it.`);
    }
    const pinned = Pinned.parse(JSON.parse(readFileSync(file, 'utf8')));
    const broken = Object.entries(pinned).flatMap(([name, shape]) => breaks(shape, now[name], name));
    expect(broken, WHAT_TO_DO).toEqual([]);
  });

  it('may get a field that may be missing, and no other', () => {
    const before = shapeOf(
      z.object({ id: z.string(), list: z.array(z.object({ at: z.nullable(z.number()) })) }),
    );
    const changes = (schema: z.ZodMiniType) => breaks(before, shapeOf(schema), 'it');
    const list = z.array(z.object({ at: z.nullable(z.number()) }));
    expect(changes(z.object({ id: z.string(), list, more: z._default(z.string(), '') }))).toEqual([]);
    expect(changes(z.object({ id: z.string(), list, more: z.optional(z.string()) }))).toEqual([]);
    expect(changes(z.object({ id: z.string(), list, more: z.string() }))).toEqual([
      'it.more: has to be there; it may be missing',
    ]);
    expect(changes(z.object({ id: z.optional(z.string()), list }))).toEqual([
      'it.id: may be missing; it has to be there',
    ]);
    expect(changes(z.object({ list }))).toEqual([
      'it.id: is gone',
      'it.id: may be missing; it has to be there',
    ]);
    expect(changes(z.object({ id: z.enum(['a']), list: z.array(z.object({ at: z.number() })) }))).toEqual([
      'it.id: enum was undefined, is ["a"]',
      'it.list[].at: type was ["number","null"], is "number"',
    ]);
  });
});
