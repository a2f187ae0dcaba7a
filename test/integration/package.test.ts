import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

type Package = ReadonlyMap<string, ZipEntry>;

const REPOSITORY = 'https://example.com/harbour/fairlead';
const BASES = ['--baseContentUrl', `${REPOSITORY}/read`, '--baseImagesUrl', `${REPOSITORY}/raw`];

const out = mkdtempSync(join(tmpdir(), 'fairlead-package-'));
const packages = new Map<Target, Package>();
let published: Package;
let told: string;

beforeAll(async () => {
  told = await pack(out, '--all');
  for (const target of TARGETS) packages.set(target, packageIn(out, target));
  const other = join(out, 'published');
  await pack(other, '--target', 'linux-x64', '--repository', REPOSITORY, ...BASES);
  published = packageIn(other, 'linux-x64');
}, 120_000);
afterAll(() => rmSync(out, { recursive: true, force: true }));

/** Gives what the command says. */
async function pack(folder: string, ...args: string[]): Promise<string> {
  // The bundles are there, and others run from them.
  const script = [join(ROOT, 'scripts/package.mjs'), '--no-build', '--out', folder];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...script, ...args]);
  return stdout + stderr;
}

function packageIn(folder: string, target: Target): Package {
  const file = readdirSync(folder).find((name) => name.startsWith(`fairlead-${target}-`));
  if (file === undefined) throw new Error(`There is no package for ${target}`);
  return new Map(readZip(readFileSync(join(folder, file))).map((entry) => [entry.name, entry]));
}

function entryOf(target: Target, name: string): ZipEntry {
  return entryIn(packages.get(target), name);
}

function entryIn(from: Package | undefined, name: string): ZipEntry {
  const entry = from?.get(`extension/${name}`);
  if (entry === undefined) throw new Error(`${name} is not in the package`);
  return entry;
}

const text = (target: Target, name: string) => entryOf(target, name).read().toString('utf8');
const textIn = (from: Package, name: string) => entryIn(from, name).read().toString('utf8');
const vsixManifest = (from: Package | undefined) =>
  from?.get('extension.vsixmanifest')?.read().toString('utf8') ?? '';

/** Where the links and pictures of a Markdown text lead, those in code aside. */
function linksIn(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, '');
  const found = prose.matchAll(
    /\]\(\s*<?([^)>\s]+)|<\w[^>]*?(?:src|href)=["']([^"']+)|^\[[^\]]+\]:\s*(\S+)/gm,
  );
  return [...found].map((each) => each[1] ?? each[2] ?? each[3] ?? '');
}

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
    // What every window loads as it starts.
    expect(text(target, 'dist/extension.js').length).toBeLessThan(100_000);
    expect(entryOf(target, 'dist/bin/fairlead').mode & 0o111).toBe(0o111);
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
    const vsix = vsixManifest(packages.get(target));
    expect(/TargetPlatform="([^"]+)"/.exec(vsix)?.[1]).toBe(target);
    const [, licence = ''] = /<License>extension\/([^<]+)</.exec(vsix) ?? [];
    expect(text(target, licence)).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
  });
});

it('says that what names no repository cannot be published, not to whoever installs it here', async () => {
  expect(told).toContain('No repository is named');
  expect(await pack(join(out, 'own'), '--own')).not.toContain('No repository is named');
});

describe('every package', () => {
  it('is not made when the packager warns', async () => {
    // Of a repository that is not named, which is why that is allowed where none is.
    const stage = mkdtempSync(join(out, 'stage-'));
    writeFileSync(
      join(stage, 'package.json'),
      '{"name":"a","version":"1.0.0","engines":{"vscode":"^1.105.0"}}',
    );
    writeFileSync(join(stage, 'LICENSE'), 'None.');
    writeFileSync(join(stage, '.vscodeignore'), '');
    const options = { node: process.execPath, stage, file: join(stage, 'a.vsix'), target: 'linux-x64' };
    const run = (flags: string[]) =>
      promisify(execFile)(process.execPath, [
        '--input-type=module',
        '--eval',
        `import { vsce } from ${JSON.stringify(join(ROOT, 'scripts/vsce.mjs'))};
         vsce(${JSON.stringify({ ...options, flags })});`,
      ]);
    await run(['--allow-missing-repository']);
    await expect(run([])).rejects.toThrow(/vsce warns:[\s\S]*'repository' field is missing/);
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

  it('has the pictures of its walkthrough', () => {
    const named = [...text('linux-x64', 'package.json').matchAll(/"(media\/walkthrough\/[^"]+)"/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, picture = ''] of named) {
      expect(entryOf('linux-x64', picture).read().toString('latin1', 1, 4)).toBe('PNG');
    }
  });

  // As Open VSX checks what is published to it.
  it('has metadata that a registry takes', () => {
    const manifest = Manifest.parse(JSON.parse(text('linux-x64', 'package.json')));
    const words = JSON.parse(text('linux-x64', 'package.nls.json')) as Record<string, string>;
    const { publisher, name, version, displayName, license, categories, keywords } = manifest;
    expect([publisher, name].filter((each) => !/^[\w+$~-]{1,255}$/.test(each))).toEqual([]);
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const description = words[manifest.description.replaceAll('%', '')] ?? '';
    expect(description.length).toBeLessThanOrEqual(2_048);
    const shown = [displayName, description, license, ...categories, ...keywords];
    expect(shown.filter((each) => /[\p{C}\u2028\u2029]/u.test(each))).toEqual([]);
    expect(shown.filter((each) => each !== description && each.length > 255)).toEqual([]);
    const vsix = vsixManifest(packages.get('linux-x64'));
    expect(/<Description[^>]*>([^<]+)</.exec(vsix)?.[1]).toBe(description);
    for (const file of ['Details', 'Changelog', 'License']) {
      expect(vsix).toContain(`Type="Microsoft.VisualStudio.Services.Content.${file}"`);
    }
    expect(vsix).toContain('Type="Microsoft.VisualStudio.Services.Icons.Default"');
  });

  it('has no link that is dead where the repository is not known, and nothing that takes a clone', () => {
    for (const name of ['readme.md', 'changelog.md']) {
      expect(linksIn(text('linux-x64', name)).filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
    }
    expect(text('linux-x64', 'readme.md')).not.toMatch(/<!--|npm (start|link|run)/);
    expect(text('linux-x64', 'readme.md')).toMatch(/^## The main job[\s\S]*^## Needs/m);
  });

  it('links to the repository that is named, and shows its picture', () => {
    const links = linksIn(textIn(published, 'readme.md'));
    expect(links).toEqual(
      expect.arrayContaining([
        `${REPOSITORY}/raw/docs/pictures/fairlead.png`,
        `${REPOSITORY}/read/docs/architecture.md`,
      ]),
    );
    expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
    // What is linked is there.
    const own = links.filter((link) => link.startsWith(REPOSITORY));
    const paths = own.map((link) => join(ROOT, link.slice(REPOSITORY.length).replace(/^\/(raw|read)\//, '')));
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
    expect(JSON.parse(textIn(published, 'package.json'))).toMatchObject({
      repository: { type: 'git', url: REPOSITORY },
    });
    expect(vsixManifest(published)).toContain(
      `Id="Microsoft.VisualStudio.Services.Links.Source" Value="${REPOSITORY}"`,
    );
  });

  it('is not made with links that nobody can follow', async () => {
    const made = pack(join(out, 'dead'), '--target', 'linux-x64', '--repository', REPOSITORY);
    await expect(made).rejects.toThrow(/--baseContentUrl and --baseImagesUrl/);
    expect(readdirSync(join(out, 'dead'))).toEqual([]);
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
