import { INTERRUPTED } from './exit-code.ts';
import { runCommandLine } from './program.ts';

const interrupted = new AbortController();
process.once('SIGINT', () => {
  interrupted.abort();
  // A second Ctrl-C ends at once, whatever is under way.
  process.once('SIGINT', () => process.exit(INTERRUPTED));
});
// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

runCommandLine(process.argv.slice(2), {
  folder: currentFolder(),
  environment: process.env,
  signal: interrupted.signal,
}).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);

/** Null when it is gone, as the worktree is that was just archived. What is started then starts in one that is there. */
function currentFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    process.chdir('/');
    return null;
  }
}
