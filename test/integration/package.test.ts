import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from '../../sidecar/protocol/zod.ts';
import { readZip, type ZipEntry } from '../support/zip.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TARGETS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'] as const;
type Target = (typeof TARGETS)[number];
/** What everybody downloads at each update, in bytes. */
const BUDGET = 1_500_000;

const Manifest = z.looseObject({
  name: z.string(),
  publisher: z.string(),
  version: z.string(),
  displayName: z.string(),
  description: z.string(),
  license: z.string(),
  icon: z.string(),
  categories: z.array(z.string()).check(z.minLength(1)),
  keywords: z.array(z.string()).check(z.minLength(1), z.maxLength(30)),
  engines: z.strictObject({ vscode: z.string() }),
  extensionKind: z.array(z.string()),
  main: z.string(),
});

const out = mkdtempSync(join(tmpdir(), 'fairlead-package-'));
const packages = new Map<Target, Map<string, ZipEntry>>();
let said = '';

beforeAll(async () => {
  // The bundles are there, and others run from them.
  const args = [join(ROOT, 'scripts/package.mjs'), '--all', '--no-build', '--out', out];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  said = stdout + stderr;
  for (const target of TARGETS) {
    const file = readdirSync(out).find((name) => name.startsWith(`fairlead-${target}-`));
    if (file === undefined) throw new Error(`There is no package for ${target}:\n${said}`);
    packages.set(target, new Map(readZip(readFileSync(join(out, file))).map((entry) => [entry.name, entry])));
  }
}, 120_000);
afterAll(() => rmSync(out, { recursive: true, force: true }));

function entryOf(target: Target, name: string): ZipEntry {
  const entry = packages.get(target)?.get(`extension/${name}`);
  if (entry === undefined) throw new Error(`${name} is not in the package for ${target}`);
  return entry;
}

const text = (target: Target, name: string) => entryOf(target, name).read().toString('utf8');

/** System and processor of a native binary, by its header. Source: elf(5); mach-o/loader.h. */
function platformOf(binary: Buffer): string {
  if (binary.readUInt32BE(0) === 0x7f454c46) {
    return { 62: 'linux-x64', 183: 'linux-arm64' }[binary.readUInt16LE(18)] ?? 'another ELF';
  }
  if (binary.readUInt32LE(0) === 0xfeedfacf) {
    return { 16777223: 'darwin-x64', 16777228: 'darwin-arm64' }[binary.readUInt32LE(4)] ?? 'another Mach-O';
  }
  return 'something else';
}

describe.each(TARGETS)('the package for %s', (target) => {
  it('has the terminal binary of that system and processor, and of no other', () => {
    const native = [...(packages.get(target)?.values() ?? [])].filter(({ name }) =>
      /\.node$|spawn-helper$/.test(name),
    );
    expect(native.map(({ read }) => platformOf(read()))).toEqual(native.map(() => target));
    expect(native.filter(({ name }) => name.endsWith('pty.node'))).toHaveLength(1);
    const helpers = native.filter(({ name }) => name.endsWith('spawn-helper'));
    expect(helpers).toHaveLength(target.startsWith('darwin') ? 1 : 0);
    expect(helpers.filter(({ mode }) => (mode & 0o111) !== 0o111)).toEqual([]);
  });

  it('has every program that is started, and nothing that only development needs', () => {
    for (const name of ['extension', 'client', 'fairlead', 'sidecar', 'scan-worker', 'ptyhost']) {
      expect(text(target, `dist/${name}.js`).length).toBeGreaterThan(10_000);
      expect(text(target, `dist/${name}.js`).lastIndexOf('\n//# sourceMappingURL')).toBe(-1);
    }
    const odd = [...(packages.get(target)?.keys() ?? [])].filter((name) =>
      /\.map$|\.tsx?$|\.test\.|\/test\/|\/src\/|\.pdb$|\.vsix$|tsconfig|package-lock/.test(name),
    );
    expect(odd).toEqual([]);
  });

  it('is small', () => {
    const file = readdirSync(out).find((name) => name.startsWith(`fairlead-${target}-`)) ?? '';
    expect(statSync(join(out, file)).size).toBeLessThan(BUDGET);
  });

  it('says for which system it is, and under which licence', () => {
    const vsix = packages.get(target)?.get('extension.vsixmanifest')?.read().toString('utf8') ?? '';
    expect(/TargetPlatform="([^"]+)"/.exec(vsix)?.[1]).toBe(target);
    expect(/<License>([^<]+)</.exec(vsix)?.[1]).toMatch(/^extension\/LICENSE/);
  });
});

describe('every package', () => {
  it('is made without a warning', () => {
    expect(said).not.toMatch(/warn/i);
  });

  it('has what a registry shows', () => {
    const manifest = Manifest.parse(JSON.parse(text('linux-x64', 'package.json')));
    expect(manifest).toMatchObject({ license: 'Apache-2.0', extensionKind: ['workspace'] });
    expect(manifest).not.toHaveProperty('devDependencies');
    expect(manifest).not.toHaveProperty('scripts');
    const icon = entryOf('linux-x64', manifest.icon).read();
    expect(icon.toString('latin1', 1, 4)).toBe('PNG');
    expect(icon.readUInt32BE(16)).toBeGreaterThanOrEqual(128);
    expect(icon.readUInt32BE(20)).toBe(icon.readUInt32BE(16));
    // What the manifest says in keys is said in words.
    const words = JSON.parse(text('linux-x64', 'package.nls.json')) as Record<string, string>;
    expect(words[manifest.description.replaceAll('%', '')]).toMatch(/\w+ \w+/);
    expect(text('linux-x64', 'readme.md')).toContain('# Fairlead');
    expect(text('linux-x64', 'changelog.md')).toContain('# Changelog');
  });

  it('names the packages that it holds parts of, with their licences', () => {
    const notices = text('linux-x64', 'dist/ThirdPartyNotices.txt');
    for (const name of ['vscode-languageclient', 'vscode-jsonrpc', 'zod', 'node-pty', 'commander']) {
      expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+`, 'm'));
    }
    expect(notices).not.toMatch(/^Licence: undefined/m);
    expect(notices).toMatch(/Permission is hereby granted/);
  });
});
