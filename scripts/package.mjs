// Packages the extension as a VSIX, for this machine or for the targets that are named:
//   node scripts/package.mjs [--target linux-x64 …] [--all] [--out FOLDER] [--no-build] [--own] [--repository URL]
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageReadme } from './package-readme.mjs';
import { install, root } from './setup.mjs';
import { vsce } from './vsce.mjs';

const TARGETS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
/** Largest VSIX that is packaged, in bytes: what everybody downloads at each update. */
const BUDGET = 1_500_000;
const BUNDLES = ['extension.js', 'client.js', 'fairlead.js', 'sidecar.js', 'scan-worker.js', 'ptyhost.js'];
/** Of the repository's own files. */
const FILES = ['CHANGELOG.md', 'LICENSE', 'package.nls.json', 'media'];
/** Of package.json, what is about this folder alone. */
const OWN = ['scripts', 'devDependencies', 'dependencies', 'allowScripts', 'private', 'bin', 'type'];

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    all: { type: 'boolean', default: false },
    out: { type: 'string', default: join(root, 'dist', 'vsix') },
    /** Without it the bundles are packaged that are there. */
    build: { type: 'boolean', default: true },
    /** What is made is installed here and goes nowhere else: nothing is said of publishing it. */
    own: { type: 'boolean', default: false },
    /** Where the repository can be read; else what `repository` in package.json says. A registry wants one. */
    repository: { type: 'string' },
    /** As vsce takes them, for a repository on a host that it does not know. */
    baseContentUrl: { type: 'string' },
    baseImagesUrl: { type: 'string' },
  },
  allowNegative: true,
});
const here = `${process.platform}-${process.arch}`;
const targets = values.all ? TARGETS : (values.target ?? [here]);
const unknown = targets.filter((target) => !TARGETS.includes(target));
if (unknown.length > 0) {
  console.error(`There is no target ${unknown.join(', ')}; there are ${TARGETS.join(', ')}.`);
  process.exit(2);
}
if (values.build) await install();
// A Node that is new enough for the packager, which the machine's own need not be.
const bundled = join(root, 'node_modules', '.bin', 'node');
const node = existsSync(bundled) ? bundled : process.execPath;
if (values.build) execFileSync(node, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
const { name, version, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const each of OWN) delete manifest[each];
manifest.engines = { vscode: manifest.engines.vscode };
if (values.repository !== undefined) manifest.repository = { type: 'git', url: values.repository };
const hasRepository = manifest.repository !== undefined;
mkdirSync(values.out, { recursive: true });
for (const target of targets) packageFor(target);
if (!hasRepository && !values.own) {
  console.log(
    'No repository is named (--repository URL): these are installed from their file, not published.',
  );
}

function packageFor(target) {
  const stage = mkdtempSync(join(tmpdir(), 'fairlead-vsix-'));
  const file = join(values.out, `${name}-${target}-${version}.vsix`);
  // Whoever installs the one before is not to find half of this one.
  const half = join(values.out, `.${process.pid}-${target}.vsix`);
  try {
    for (const each of FILES) cpSync(join(root, each), join(stage, each), { recursive: true });
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    writeFileSync(join(stage, 'README.md'), packageReadme(readme, hasRepository));
    writeFileSync(
      join(stage, 'package.json'),
      `${JSON.stringify({ name, version, ...manifest }, null, 2)}\n`,
    );
    // Neither `files` nor `.vscodeignore` is a warning; what is staged is what is meant.
    writeFileSync(join(stage, '.vscodeignore'), '.vscodeignore\n');
    stageBundles(stage, target);
    vsce({ node, stage, file: half, target, flags: vsceFlags() });
    const { size } = statSync(half);
    if (size > BUDGET)
      throw new Error(`${file} would have ${size} bytes, more than the ${BUDGET} that it may have.`);
    renameSync(half, file);
    console.log(`${file}  ${(size / 1e6).toFixed(2)} MB`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  } finally {
    rmSync(half, { force: true });
    rmSync(stage, { recursive: true, force: true });
  }
}

function vsceFlags() {
  if (!hasRepository) return ['--allow-missing-repository'];
  return ['baseContentUrl', 'baseImagesUrl'].flatMap((flag) =>
    values[flag] === undefined ? [] : [`--${flag}`, values[flag]],
  );
}

function stageBundles(stage, target) {
  const from = join(root, 'dist');
  const to = join(stage, 'dist');
  mkdirSync(to);
  for (const each of ['package.json', 'bin']) cpSync(join(from, each), join(to, each), { recursive: true });
  for (const file of BUNDLES) {
    const { mode } = statSync(join(from, file));
    // The source maps stay here, so nothing is to look for them there.
    const text = readFileSync(join(from, file), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
    writeFileSync(join(to, file), text, { mode });
  }
  for (const file of readdirSync(from)) {
    if (file.endsWith('.LEGAL.txt')) cpSync(join(from, file), join(to, file));
  }
  const pty = join(root, 'node_modules', 'node-pty');
  const own = join(to, 'node_modules', 'node-pty');
  for (const part of ['package.json', 'LICENSE', 'lib', join('prebuilds', target)]) {
    cpSync(join(pty, part), join(own, part), {
      recursive: true,
      filter: (source) => statSync(source).isDirectory() || !/\.(map|test\.js|pdb)$/.test(source),
    });
  }
  writeFileSync(join(to, 'ThirdPartyNotices.txt'), notices());
}

/** The licences of every package that a bundle holds a part of. */
function notices() {
  const packages = new Set();
  for (const bundle of BUNDLES) {
    const { sources } = JSON.parse(readFileSync(join(root, 'dist', `${bundle}.map`), 'utf8'));
    for (const source of sources) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source);
      if (found !== null) packages.add(found[1]);
    }
  }
  return [...packages, 'node-pty']
    .sort()
    .map((name) => {
      const folder = join(root, 'node_modules', name);
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const text = readdirSync(folder).find((file) => /^(licen[cs]e|thirdpartynotices)/i.test(file));
      const words =
        text === undefined ? `Licence: ${license}` : readFileSync(join(folder, text), 'utf8').trim();
      return `${name} ${version}\n${'-'.repeat(60)}\n${words}\n`;
    })
    .join('\n\n');
}
