import { readFileSync, statSync } from 'node:fs';
import { parseRow } from '../../../sidecar/agents/claude/transcript-row.ts';
import { joined, type Request, requestOf } from '../../../sidecar/cost/request.ts';
import { RequestScan, type ScanFile } from '../../../sidecar/cost/request-scan.ts';

/** What a transcript tells of the requests, by message and request id. */
export interface Told {
  requests: Map<string, Request & { seenIn: string[] }>;
  /** Answers that cannot be counted. */
  uncounted: number;
}

function tell(told: Told, request: Request, seenIn: readonly string[]): void {
  const key = `${request.message} ${request.request}`;
  const before = told.requests.get(key);
  told.requests.set(key, {
    ...(before === undefined ? request : joined(before, request)),
    seenIn: [...new Set([...(before?.seenIn ?? []), ...seenIn])].sort(),
  });
}

/** Parses every whole line of the file: slow, and too simple to be wrong. */
export function readPlainly(path: string): Told {
  const told: Told = { requests: new Map(), uncounted: 0 };
  const text = readFileSync(path, 'utf8');
  const born = Math.floor(statSync(path).birthtimeMs);
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const row = parseRow(line);
    if (row?.kind !== 'response') continue;
    const request = requestOf(row, born);
    if (request === undefined) told.uncounted += 1;
    else tell(told, request, [row.sessionId ?? request.payer]);
  }
  return told;
}

/** The same from the scan that ships, read in pieces of about `stepBytes`. */
export function readByScan(path: string, stepBytes: number): Told {
  const told: Told = { requests: new Map(), uncounted: 0 };
  const files: ScanFile[] = [{ path, from: undefined }];
  const scan = new RequestScan(files);
  while (!scan.isDone) {
    scan.step(stepBytes);
    const batch = scan.take();
    told.uncounted += batch.malformed;
    for (const { request, seenIn } of batch.tellings) tell(told, request, seenIn);
  }
  return told;
}
