import type { TranscriptPosition } from '../agents/claude/transcript.ts';
import { joinNews, readNews, type TranscriptNews } from '../agents/claude/transcript-news.ts';
import { messageOf } from '../protocol/errors.ts';
import { type RequestBatch, RequestScan, type ScanFile } from './request-scan.ts';

/** What the scan worker is asked. */
export type ScanQuestion =
  | { kind: 'news'; job: number; path: string; from: TranscriptPosition | undefined }
  | { kind: 'requests'; job: number; files: ScanFile[] }
  /** A batch of the job was kept: one more may come. */
  | { kind: 'go-on'; job: number }
  | { kind: 'cancel'; job: number };

/** What it answers. A job has ended with its `news`, `failed`, or the batch that is the `last`. */
export type ScanAnswer =
  | { kind: 'news'; job: number; news: TranscriptNews | undefined }
  | { kind: 'requests'; job: number; batch: RequestBatch; last: boolean }
  | { kind: 'failed'; job: number; why: string };

/** Points between two effects, for fault tests that end the worker there. */
export type ScanStep = 'scan-step-begun' | 'scan-batch-posted';

/** Bytes that are read at once: a short job waits for one such piece at most. */
const STEP_BYTES = 512 * 1024;
/** Batches of one job on their way: the next is read while one is kept. */
const AHEAD = 2;

interface Job {
  id: number;
  /** Bytes read so far. */
  bytes: number;
  canRun(): boolean;
  /** Reads a piece; gives its bytes and whether the job has ended. */
  step(): { bytes: number; ended: boolean };
  goOn(): void;
}

/**
 * The jobs of the scan worker: each read piece by piece, the one that has read least first, so that what is short
 * never waits for what is long.
 */
export class ScanJobs {
  readonly #post: (answer: ScanAnswer) => void;
  readonly #step: (name: ScanStep) => void;
  readonly #jobs = new Map<number, Job>();
  #isScheduled = false;

  constructor(post: (answer: ScanAnswer) => void, step: (name: ScanStep) => void) {
    this.#post = post;
    this.#step = step;
  }

  take(question: ScanQuestion): void {
    const { job } = question;
    if (question.kind === 'news') this.#jobs.set(job, this.#newsJob(question));
    else if (question.kind === 'requests') this.#jobs.set(job, this.#requestsJob(question));
    else if (question.kind === 'go-on') this.#jobs.get(job)?.goOn();
    else this.#jobs.delete(job);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#next() === undefined) return;
    this.#isScheduled = true;
    // Between two pieces the questions that have come are heard.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#runOne();
      this.#schedule();
    });
  }

  #next(): Job | undefined {
    let next: Job | undefined;
    for (const job of this.#jobs.values()) {
      if (job.canRun() && (next === undefined || job.bytes < next.bytes)) next = job;
    }
    return next;
  }

  #runOne(): void {
    const job = this.#next();
    if (job === undefined) return;
    this.#step('scan-step-begun');
    try {
      const { bytes, ended } = job.step();
      job.bytes += bytes;
      if (ended) this.#jobs.delete(job.id);
    } catch (error) {
      this.#jobs.delete(job.id);
      this.#post({ kind: 'failed', job: job.id, why: messageOf(error) });
    }
  }

  #newsJob({ job, path, from }: Extract<ScanQuestion, { kind: 'news' }>): Job {
    let position = from;
    let joined: TranscriptNews | undefined;
    return {
      id: job,
      bytes: 0,
      canRun: () => true,
      goOn: () => {},
      step: () => {
        const news = readNews(path, position, STEP_BYTES);
        joined = news === undefined ? undefined : joinNews(joined, news);
        if (news?.more !== true) {
          this.#post({ kind: 'news', job, news: joined });
          return { bytes: 0, ended: true };
        }
        const bytes = news.position.offset - (news.restarted ? 0 : (position?.offset ?? 0));
        position = news.position;
        return { bytes, ended: false };
      },
    };
  }

  #requestsJob({ job, files }: Extract<ScanQuestion, { kind: 'requests' }>): Job {
    const scan = new RequestScan(files);
    let credit = AHEAD;
    return {
      id: job,
      bytes: 0,
      canRun: () => credit > 0,
      goOn: () => {
        credit += 1;
      },
      step: () => {
        const bytes = scan.step(STEP_BYTES);
        const last = scan.isDone;
        if (!last && !scan.isFull) return { bytes, ended: false };
        credit -= 1;
        this.#post({ kind: 'requests', job, batch: scan.take(), last });
        this.#step('scan-batch-posted');
        return { bytes, ended: last };
      },
    };
  }
}
