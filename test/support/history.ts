import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { answer } from '../unit/cost/transcript-lines.ts';

export interface History {
  /** Ids of the conversations. */
  agentSessions: string[];
  /** Paths of their transcripts, in the same order. */
  transcripts: string[];
  requests: number;
  bytes: number;
}

export interface HistorySize {
  files: number;
  requestsPerFile: number;
  /** Bytes of what the agent read and ran between two requests. */
  fillerBytes: number;
}

/** Transcripts of many conversations in `folder`, as large as wanted. Each request has one output token, in two rows. */
export function writeHistory(folder: string, { files, requestsPerFile, fillerBytes }: HistorySize): History {
  const history: History = { agentSessions: [], transcripts: [], requests: 0, bytes: 0 };
  mkdirSync(folder, { recursive: true });
  const text = 'const answer = "forty-two";\n'.repeat(Math.ceil(fillerBytes / 31));
  const filler = `${JSON.stringify({ type: 'user', uuid: 'u', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: text }] } })}\n`;
  for (let file = 0; file < files; file += 1) {
    const session = `00000000-0000-4000-8000-${String(file).padStart(12, '0')}`;
    const path = join(folder, `${session}.jsonl`);
    const fd = openSync(path, 'w');
    for (let n = 0; n < requestsPerFile; n += 1) {
      const row = answer({ message: `m ${file} ${n}`, request: `r ${file} ${n}`, session, output: 1 });
      history.bytes += writeSync(fd, `${row}${filler}${row}`);
      history.requests += 1;
    }
    closeSync(fd);
    history.agentSessions.push(session);
    history.transcripts.push(path);
  }
  return history;
}
