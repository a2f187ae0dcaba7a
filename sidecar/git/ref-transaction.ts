import type { Dialogue } from './children.ts';
import { type Git, tail } from './git.ts';

/** One ref locked at a value, to be moved or let go. While it is open no other git can move the ref, nor the HEAD on it. */
export interface PreparedUpdate {
  /** @returns false when it is not known whether the ref moved: read it */
  commit(): Promise<boolean>;
  /** Lets go; the ref stays. */
  abort(): Promise<void>;
}

export type PrepareOutcome = { kind: 'prepared'; update: PreparedUpdate } | { kind: 'failed'; text: string };

/** Milliseconds that git may take for one answer. It waits 100 ms for locks of others itself. */
const ANSWER_WITHIN = 30_000;

/**
 * Locks `ref` for a move from `from` to `to`. When this process dies, git sees its input end and lets go.
 * Source: git-update-ref(1), `start`, `prepare`, `commit`.
 */
export async function prepareUpdate(
  git: Git,
  change: { ref: string; from: string; to: string },
  message: string,
  env: Readonly<Record<string, string>> = {},
): Promise<PrepareOutcome> {
  const dialogue = git.open(['update-ref', '--create-reflog', '-m', message, '--stdin'], { env });
  const answers = new Answers(dialogue);
  dialogue.write(`start\nupdate ${change.ref} ${change.to} ${change.from}\nprepare\n`);
  if (!(await answers.next('prepare: ok'))) {
    dialogue.end();
    const { stderr } = await dialogue.ended;
    return { kind: 'failed', text: tail(stderr, 5) || 'git update-ref gave no answer.' };
  }
  return {
    kind: 'prepared',
    update: {
      async commit() {
        dialogue.write('commit\n');
        const committed = await answers.next('commit: ok');
        dialogue.end();
        const { exitCode } = await dialogue.ended;
        return committed && exitCode === 0;
      },
      async abort() {
        dialogue.write('abort\n');
        dialogue.end();
        await dialogue.ended;
      },
    },
  };
}

class Answers {
  readonly #dialogue: Dialogue;
  #text = '';
  #heard: () => void = () => {};

  constructor(dialogue: Dialogue) {
    this.#dialogue = dialogue;
    dialogue.onOutput((chunk) => {
      this.#text += chunk.toString('utf8');
      this.#heard();
    });
  }

  /** Whether the line came before git ended or took too long. */
  async next(line: string): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const heard = new Promise<true>((resolve) => {
      this.#heard = () => {
        if (`\n${this.#text}`.includes(`\n${line}\n`)) resolve(true);
      };
      this.#heard();
    });
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => {
        this.#dialogue.kill();
        resolve(false);
      }, ANSWER_WITHIN);
    });
    const ended = this.#dialogue.ended.then(() => `\n${this.#text}`.includes(`\n${line}\n`));
    const answer = await Promise.race([heard, late, ended]);
    clearTimeout(timer);
    return answer;
  }
}
