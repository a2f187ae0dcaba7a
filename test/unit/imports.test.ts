import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** The parts, lowest first: each may import itself and those before it. */
const ORDER = [
  'protocol',
  'platform',
  'git',
  'terminals',
  'environments',
  'agents',
  'cost',
  'sessions',
  'lanes',
  'overlap',
  'queue',
  'daemon',
  'cli',
];

/** Parts that may use less than their place in the order would allow. */
const ONLY: Record<string, readonly string[]> = {
  protocol: [],
  ptyhost: ['protocol', 'platform'],
  cli: ['protocol', 'platform', 'terminals', 'git'],
  extension: ['protocol'],
  webview: ['protocol'],
};

interface Import {
  from: string;
  to: string;
}

describe('the parts of Fairlead', () => {
  const imports = sources().flatMap(importsOf);

  it('import only themselves and the parts below them', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [partOf(from), partOf(to)];
      return a !== b && !allowed(a).includes(b);
    });
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it('have no circles between files', () => {
    expect(circles(imports)).toEqual([]);
  });

  it('have no file that only passes on what others export', () => {
    const barrels = sources().filter((file) =>
      /^(\s*export (\*|\{[^}]*\}|type \{[^}]*\}) from [^;]+;\s*)+$/.test(
        readFileSync(join(ROOT, file), 'utf8'),
      ),
    );
    expect(barrels).toEqual([]);
  });
});

function sources(): string[] {
  const files: string[] = [];
  for (const top of ['sidecar', 'extension', 'webview']) {
    let entries: string[] = [];
    try {
      entries = readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' });
    } catch {
      continue;
    }
    files.push(...entries.filter((name) => name.endsWith('.ts')).map((name) => join(top, name)));
  }
  return files;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => ({
    from: file,
    to: relative(ROOT, resolve(ROOT, dirname(file), match[1] ?? '')),
  }));
}

function partOf(file: string): string {
  const parts = file.split(sep);
  return (parts[0] === 'sidecar' ? parts[1] : parts[0]) ?? '';
}

function allowed(part: string): readonly string[] {
  return ONLY[part] ?? ORDER.slice(0, Math.max(0, ORDER.indexOf(part)));
}

function circles(imports: readonly Import[]): string[] {
  const graph = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(' -> '));
    if (at >= 0 || done.has(file)) return;
    for (const { to } of graph.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}
