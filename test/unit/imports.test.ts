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

/** The folders of the extension, lowest first; what stands beside them may import all. */
const EXTENSION = ['window', 'connection', 'fleet', 'lanes', 'terminals', 'actions'].map(
  (folder) => `extension/${folder}`,
);

/** Parts that may use less than their place in the order would allow. */
const ONLY: Record<string, readonly string[]> = {
  protocol: [],
  ptyhost: ['protocol', 'platform'],
  cli: ['protocol', 'platform', 'terminals', 'git'],
  extension: ['protocol', ...EXTENSION],
  ...Object.fromEntries(EXTENSION.map((part, place) => [part, ['protocol', ...EXTENSION.slice(0, place)]])),
  webview: ['protocol'],
};

interface Import {
  from: string;
  to: string;
}

describe('the parts of Fairlead', () => {
  const imports = sources('sidecar', 'extension', 'webview').flatMap(importsOf);

  it('each have a place in the order', () => {
    const parts = new Set(imports.map(({ from }) => partOf(from)));
    expect([...parts].filter((part) => !(part in ONLY) && !ORDER.includes(part))).toEqual([]);
  });

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
    const barrels = sources('sidecar', 'extension', 'webview').filter((file) =>
      /^(\s*export (\*|\{[^}]*\}|type \{[^}]*\}) from [^;]+;\s*)+$/.test(
        readFileSync(join(ROOT, file), 'utf8'),
      ),
    );
    expect(barrels).toEqual([]);
  });
});

describe('what tests share', () => {
  const imports = sources('test/support', 'test/e2e/support').flatMap(importsOf);

  it('knows nothing of the demo that is played with it, nor of tests', () => {
    const wrong = imports.filter(({ to }) => to.startsWith('scripts/') || to.endsWith('.test.ts'));
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it('serves those that need no window without what serves a window', () => {
    const wrong = imports.filter(({ from, to }) => from.startsWith('test/support/') && to.includes('e2e'));
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });
});

function sources(...folders: readonly string[]): string[] {
  const files: string[] = [];
  for (const top of folders) {
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
  const [top = '', folder = ''] = dirname(file).split(sep);
  if (top === 'sidecar') return folder;
  return top === 'extension' && folder !== '' ? `extension/${folder}` : top;
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
