import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as z from '../protocol/zod.ts';

/**
 * The native half of node-pty 1.2.0-beta.15 (`src/unix/pty.cc`), used without its JavaScript half. That one destroys
 * the terminal 200 ms after the exit of the program whether or not everything was read, adds PWD and TERM to the
 * environment, and spins while a program does not read its input.
 */
export interface NativePty {
  /** Forks with a fresh session and PTY. Throws when there is none to be had. Exit is told once the child is reaped. */
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (exitCode: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string };
  resize(fd: number, cols: number, rows: number, pixelWidth: number, pixelHeight: number): void;
}

export interface LoadedPty {
  native: NativePty;
  /** Helper program that macOS needs; elsewhere unused. */
  helper: string;
}

const isNativePty = (value: unknown): value is NativePty =>
  typeof value === 'object' &&
  value !== null &&
  'fork' in value &&
  typeof value.fork === 'function' &&
  'resize' in value &&
  typeof value.resize === 'function';

const LoadedSchema = z.object({ dir: z.string(), module: z.custom<NativePty>(isNativePty) });
const LoaderSchema = z.object({
  loadNativeModule: z.custom<(name: string) => unknown>((value) => typeof value === 'function'),
});

/** Loads node-pty from beside the bundle, or, run from sources, from the `node_modules` of the current folder. */
export function loadNativePty(): LoadedPty {
  const require = createRequire(
    typeof __filename === 'string' ? __filename : join(process.cwd(), 'ptyhost.js'),
  );
  const loader = LoaderSchema.parse(require('node-pty/lib/utils.js'));
  const loaded = LoadedSchema.parse(loader.loadNativeModule('pty'));
  const library = join(require.resolve('node-pty/lib/utils.js'), '..');
  return { native: loaded.module, helper: join(library, loaded.dir, 'spawn-helper') };
}
