import { spawn } from 'node:child_process';
import { quoteWord } from '../../sidecar/platform/shell.ts';
import type { CommandResult, SidecarHarness } from './sidecar.ts';

/**
 * Runs `fairlead ARGS` in a mount namespace of its own, after `mounts` (lines of sh, as root). What it starts stays
 * there; sockets outside of what is mounted are shared with the world. Nothing is to be unmounted afterwards.
 */
export function runMounted(
  fairlead: SidecarHarness,
  mounts: string,
  args: readonly string[],
  options: { cwd: string },
): Promise<CommandResult> {
  const command = [process.execPath, fairlead.program, ...args].map(quoteWord).join(' ');
  const asRoot = process.getuid?.() === 0 ? ['--mount'] : ['--mount', '--user', '--map-root-user'];
  return new Promise((resolve, reject) => {
    const child = spawn('unshare', [...asRoot, 'sh', '-ec', `${mounts}\nexec ${command}`], {
      cwd: options.cwd,
      env: fairlead.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
