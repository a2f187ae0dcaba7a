// Bundles every entry point into dist/. Runs on Node 20 and newer.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, context } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const pkg = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const ENTRIES = {
  fairlead: 'sidecar/cli/main.ts',
  sidecar: 'sidecar/daemon/main.ts',
  'scan-worker': 'sidecar/daemon/scan-worker.ts',
  ptyhost: 'sidecar/ptyhost/main.ts',
};

/**
 * A hash of every source file, so that two builds of the same sources are the same build, and the time of the newest
 * one in milliseconds since the epoch, which tells the older of two builds of one version.
 */
function identify() {
  const hash = createHash('sha256');
  let newest = 0;
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else {
        hash.update(entry.name).update(readFileSync(path));
        newest = Math.max(newest, Math.floor(statSync(path).mtimeMs));
      }
    }
  };
  for (const folder of ['sidecar', 'media']) if (existsSync(join(root, folder))) visit(join(root, folder));
  hash.update(readFileSync(join(root, 'package-lock.json')));
  return { id: hash.digest('hex').slice(0, 12), sourcesAt: newest };
}

/**
 * Writes letters beyond ASCII as escapes, as the bundler does everywhere but in regular expressions: V8 keeps a source with
 * a single letter beyond Latin 1 in two bytes for each, and takes twice the time to verify it at every start.
 */
const plainLetters = {
  name: 'plain-letters',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(
        /[^\0-\x7f]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
      loader: 'ts',
    }));
  },
};

const identity = identify();

/** Replaces a file at once, and only where it changes: what is built may be running. */
function put(file, contents) {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  mkdirSync(dirname(file), { recursive: true });
  const half = `${file}.${process.pid}`;
  writeFileSync(half, contents);
  renameSync(half, file);
}

const puts = {
  name: 'puts',
  setup({ onEnd }) {
    onEnd(({ outputFiles = [] }) => {
      for (const { path, contents } of outputFiles) put(path, contents);
    });
  },
};

const options = {
  entryPoints: Object.fromEntries(
    Object.entries(ENTRIES).filter(([, source]) => existsSync(join(root, source))),
  ),
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node22',
  conditions: ['node'],
  external: ['node-pty'],
  write: false,
  define: {
    __FAIRLEAD_VERSION__: JSON.stringify(pkg.version),
    __FAIRLEAD_BUILD__: JSON.stringify(identity.id),
    __FAIRLEAD_SOURCES_AT__: JSON.stringify(identity.sourcesAt),
  },

  banner: { js: `#!/usr/bin/env node\n${readFileSync(join(root, 'scripts', 'require-node.cjs'), 'utf8')}` },
  sourcemap: true,
  minifySyntax: true,
  // What is read and hashed at every start is a quarter less. Names stay: the log has them.
  minifyWhitespace: true,
  legalComments: 'linked',
  plugins: [plainLetters, puts],
  logLevel: 'warning',
};

/** node-pty is native and stays beside the bundles; copying dist/ alone carries it. */
function copyNodePty() {
  const from = join(root, 'node_modules', 'node-pty');
  const to = join(dist, 'node_modules', 'node-pty');
  const target = `${process.platform}-${process.arch}`;
  const kept = new Set();
  const copy = (path) => {
    const source = join(from, path);
    if (!existsSync(source)) return;
    const status = statSync(source);
    if (status.isDirectory()) for (const name of readdirSync(source)) copy(join(path, name));
    else if (!/\.(map|test\.js|pdb)$/.test(source)) {
      put(join(to, path), readFileSync(source));
      chmodSync(join(to, path), status.mode);
      kept.add(path);
    }
  };
  for (const part of ['package.json', 'LICENSE', 'lib', join('prebuilds', target), 'build/Release'])
    copy(part);
  for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !kept.has(relative(to, file))) rmSync(file);
  }
}

/** The client library is most of what the extension weighs: a bundle of its own, loaded on first use. */
const lazyClient = {
  name: 'lazy-client',
  setup({ onResolve }) {
    onResolve({ filter: /\/client\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './client.js', external: true } : undefined,
    );
  },
};

const extensionOptions = {
  ...options,
  entryPoints: { extension: 'extension/extension.ts', client: 'extension/connection/client.ts' },
  external: ['vscode'],
  plugins: [plainLetters, lazyClient, puts],
  banner: {},
  minify: true,
};

mkdirSync(dist, { recursive: true });
copyNodePty();
const manifest = `${JSON.stringify({ type: 'commonjs', version: pkg.version })}\n`;
put(join(dist, 'package.json'), Buffer.from(manifest));
put(join(dist, 'bin', 'fairlead'), readFileSync(join(root, 'scripts', 'fairlead.sh')));
chmodSync(join(dist, 'bin', 'fairlead'), 0o755);
if (process.argv.includes('--watch')) {
  const parts = { sidecar: options, extension: extensionOptions };
  for (const [part, each] of Object.entries(parts)) {
    const tell = {
      name: 'tell',
      setup({ onEnd }) {
        onEnd(({ errors }) => {
          const at = new Date().toLocaleTimeString('sv');
          console.log(errors.length > 0 ? `${at}  ${part}: not built` : `${at}  ${part}: built`);
        });
      },
    };
    await (await context({ ...each, plugins: [...each.plugins, tell] })).watch();
  }
  console.log('Watching; every change is built. Ctrl-C ends.');
} else {
  await Promise.all([build(options), build(extensionOptions)]);
}
