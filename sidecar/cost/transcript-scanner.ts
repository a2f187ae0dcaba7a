import { Worker } from 'node:worker_threads';
import type { TranscriptPosition } from '../agents/claude/transcript.ts';
import type { TranscriptNews } from '../agents/claude/transcript-news.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { RequestBatch, ScanFile } from './request-scan.ts';
import type { ScanAnswer, ScanQuestion } from './scan-jobs.ts';

/** Reads transcripts without holding up whoever asks. */
export interface TranscriptScanner {
  /**
   * What was appended to a transcript since `from` and tells of the agent's state; undefined when there is none.
   * @throws FairleadError `transcript.interrupted`, `transcript.unreadable`
   */
  news(path: string, from: TranscriptPosition | undefined): Promise<TranscriptNews | undefined>;
  /**
   * Reads the requests out of `files` and gives them to `take`, batch by batch, each from a turn of the event loop of
   * its own. Resolves after the last.
   * @throws FairleadError `transcript.interrupted`: what was not given away is to be asked for again; what `take` throws
   */
  requests(files: readonly ScanFile[], take: (batch: RequestBatch) => void): Promise<void>;
}

export interface ScanWorkerOptions {
  /** The bundle `scan-worker.js`. */
  script: string;
  clock: Clock;
  log: Log;
}

type Job = {
  /** Workers that died under it. */
  deaths: number;
  reject: (error: unknown) => void;
} & (
  | { kind: 'news'; question: ScanQuestion; resolve: (news: TranscriptNews | undefined) => void }
  | { kind: 'requests'; question: ScanQuestion; resolve: () => void; take: (batch: RequestBatch) => void }
);

type BatchAnswer = Extract<ScanAnswer, { kind: 'requests' }>;

/** A worker that died is started again after this long, twice as long after each further death. Milliseconds. */
const BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 30_000;
/** One that has lived for so long has died of something else than the one before. Milliseconds. */
const HEALTHY_MS = 60_000;
/** A job under which so many workers died is not given to another. */
const DEATHS = 3;
/** MiB of heap, enough to parse the longest line that is parsed: a thread that needs more takes the process with it. */
const HEAP_MIB = 2_048;

/**
 * The thread that reads transcripts, started when there is something to read. It keeps nothing, so one that dies is
 * replaced and nothing is lost.
 */
export class ScanWorker implements TranscriptScanner {
  readonly #options: ScanWorkerOptions;
  readonly #jobs = new Map<number, Job>();
  readonly #batches: BatchAnswer[] = [];
  #isGiving = false;
  #lastJob = 0;
  #worker: Worker | undefined;
  /** Deaths in a row. */
  #deaths = 0;
  #cancelStart: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ScanWorkerOptions) {
    this.#options = options;
  }

  news(path: string, from: TranscriptPosition | undefined): Promise<TranscriptNews | undefined> {
    return new Promise((resolve, reject) => {
      this.#ask((job) => ({
        kind: 'news',
        question: { kind: 'news', job, path, from },
        deaths: 0,
        resolve,
        reject,
      }));
    });
  }

  requests(files: readonly ScanFile[], take: (batch: RequestBatch) => void): Promise<void> {
    if (files.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#ask((job) => ({
        kind: 'requests',
        question: { kind: 'requests', job, files: [...files] },
        // What was given away is known to whoever asked alone: never asked again from here.
        deaths: DEATHS - 1,
        take,
        resolve,
        reject,
      }));
    });
  }

  /** Ends the thread; what is being read is interrupted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelStart?.();
    this.#batches.length = 0;
    for (const [id, { reject }] of this.#jobs) {
      this.#jobs.delete(id);
      reject(interrupted());
    }
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #ask(make: (job: number) => Job): void {
    this.#lastJob += 1;
    const job = make(this.#lastJob);
    if (this.#isClosed) {
      job.reject(interrupted());
      return;
    }
    this.#jobs.set(this.#lastJob, job);
    if (this.#worker !== undefined) this.#post(job.question);
    else if (this.#cancelStart === undefined) this.#start();
  }

  #start(): void {
    this.#cancelStart = undefined;
    const { script, clock, log } = this.#options;
    const startedAt = clock.monotonic();
    let worker: Worker;
    try {
      worker = new Worker(script, {
        name: 'fairlead scan',
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
        execArgv: [],
      });
    } catch (error) {
      // No thread is to be had, which may pass.
      log.error('scan worker failed', { error: messageOf(error) });
      this.#died(startedAt, null);
      return;
    }
    this.#worker = worker;
    worker.on('message', (answer: ScanAnswer) => {
      if (this.#worker === worker) this.#hear(answer);
    });
    worker.on('error', (error) => log.error('scan worker failed', { error: messageOf(error) }));
    worker.on('exit', (code) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#died(startedAt, code);
    });
    for (const { question } of this.#jobs.values()) this.#post(question);
    this.#holdProcess();
  }

  #died(startedAt: number, code: number | null): void {
    const { clock, log } = this.#options;
    this.#deaths = clock.monotonic() - startedAt < HEALTHY_MS ? this.#deaths + 1 : 1;
    const backOffMs = Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** (this.#deaths - 1));
    log.warn('scan worker died, is started again', { code, backOffMs, jobs: this.#jobs.size });
    this.#cancelStart = clock.after(backOffMs, () => this.#startAgain());
    this.#mourn();
  }

  #startAgain(): void {
    this.#cancelStart = undefined;
    if (this.#jobs.size > 0) this.#start();
  }

  /** Gives up what cannot be asked again; the rest waits for the next worker. */
  #mourn(): void {
    // What has arrived counts: were it dropped, a worker that dies again and again would get nowhere.
    while (this.#batches.length > 0) this.#giveAway();
    for (const [id, job] of this.#jobs) {
      job.deaths += 1;
      if (job.deaths < DEATHS) continue;
      this.#jobs.delete(id);
      job.reject(interrupted());
    }
  }

  #hear(answer: ScanAnswer): void {
    const job = this.#jobs.get(answer.job);
    if (job === undefined) return;
    if (answer.kind === 'requests') {
      this.#batches.push(answer);
      this.#giveNext();
      return;
    }
    this.#ended(answer.job);
    if (answer.kind === 'failed') job.reject(unreadable(answer.why));
    else if (job.kind === 'news') job.resolve(answer.news);
  }

  /** One batch a turn of the event loop, however many have arrived: others have their turn in between. */
  #giveNext(): void {
    if (this.#isGiving || this.#batches.length === 0) return;
    this.#isGiving = true;
    setImmediate(() => {
      this.#isGiving = false;
      this.#giveAway();
      this.#giveNext();
    });
  }

  #giveAway(): void {
    const answer = this.#batches.shift();
    if (answer === undefined) return;
    const job = this.#jobs.get(answer.job);
    if (job?.kind === 'requests') {
      try {
        job.take(answer.batch);
        if (answer.last) {
          this.#ended(answer.job);
          job.resolve();
        } else this.#post({ kind: 'go-on', job: answer.job });
      } catch (error) {
        this.#ended(answer.job);
        this.#post({ kind: 'cancel', job: answer.job });
        job.reject(error);
      }
    }
  }

  #ended(job: number): void {
    this.#jobs.delete(job);
    this.#holdProcess();
  }

  #post(question: ScanQuestion): void {
    this.#worker?.postMessage(question);
    this.#holdProcess();
  }

  /** The thread alone keeps no process alive; an answer that is awaited does. */
  #holdProcess(): void {
    if (this.#jobs.size > 0) this.#worker?.ref();
    else this.#worker?.unref();
  }
}

/** Whether what was asked for is to be asked for again. */
export function isInterrupted(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'transcript.interrupted';
}

function interrupted(): FairleadError {
  return new FairleadError('transcript.interrupted', 'The reading of a transcript was interrupted.', {
    hint: 'It is read again by itself; `fairlead logs` tells why when it happens often.',
  });
}

function unreadable(why: string): FairleadError {
  return new FairleadError('transcript.unreadable', `A transcript cannot be read: ${why}.`, {
    hint: 'Make it readable: its agent is seen less well until it is.',
  });
}
