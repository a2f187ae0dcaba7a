import { type Children, systemChildren } from '../../sidecar/git/children.ts';

/** Children of which the long-lived ones can be killed together, as when a machine goes down. */
export class KeptChildren implements Children {
  readonly #pids = new Set<number>();

  run(...args: Parameters<Children['run']>): ReturnType<Children['run']> {
    return systemChildren.run(...args);
  }

  open(...args: Parameters<Children['open']>): ReturnType<Children['open']> {
    const dialogue = systemChildren.open(...args);
    const { pid } = dialogue;
    if (pid !== undefined) {
      this.#pids.add(pid);
      void dialogue.ended.then(() => this.#pids.delete(pid));
    }
    return dialogue;
  }

  kill(): void {
    for (const pid of this.#pids) process.kill(-pid, 'SIGKILL');
  }
}
