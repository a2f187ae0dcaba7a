import { parentPort } from 'node:worker_threads';
import { ScanJobs, type ScanQuestion } from '../cost/scan-jobs.ts';
import { faultPoint } from './fault-point.ts';

/** The thread that reads transcripts, so that the sidecar answers meanwhile. It keeps nothing: it may die at any time. */
const port = parentPort;
if (port === null) throw new Error('The scan worker is no program of its own.');
const jobs = new ScanJobs(
  (answer) => port.postMessage(answer),
  faultPoint(process.env, () => process.exit(1)),
);
port.on('message', (question: ScanQuestion) => jobs.take(question));
