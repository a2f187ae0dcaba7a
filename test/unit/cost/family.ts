import fc from 'fast-check';
import { answer } from './transcript-lines.ts';

/** One request as it was meant; in the transcripts it stands in several rows and files. */
export interface MeantRequest {
  message: string;
  payer: string;
  /** Most output tokens of its rows. */
  output: number;
  priced: boolean;
}

/** Conversations that were forked from each other at random, as the CLI writes them. */
export interface Family {
  /** Ids of the agent sessions; the first is the root. */
  agentSessions: string[];
  /** Bytes of each transcript, by the name of the file. */
  files: Map<string, Buffer>;
  requests: MeantRequest[];
  /** By agent session: the messages that its transcript holds and that others paid. */
  inherited: Map<string, Set<string>>;
}

interface RequestShape {
  outputs: number[];
  hasId: boolean;
  priced: boolean;
  where: 'main' | 'subagent' | 'replayed';
}

const requestShape: fc.Arbitrary<RequestShape> = fc.record({
  outputs: fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 3 }),
  hasId: fc.boolean(),
  priced: fc.boolean(),
  where: fc.constantFrom('main', 'main', 'main', 'subagent', 'replayed'),
});

const forkShape = fc.record({
  /** Which of the earlier conversations it comes from, and how much of it, in 1/100. */
  parent: fc.nat(99),
  cut: fc.nat(100),
  requests: fc.array(requestShape, { maxLength: 6 }),
});

export const family: fc.Arbitrary<Family> = fc
  .tuple(fc.array(requestShape, { maxLength: 6 }), fc.array(forkShape, { maxLength: 4 }))
  .map(([root, forks]) => makeFamily([{ parent: 0, cut: 0, requests: root }, ...forks]));

interface Row {
  meant: MeantRequest;
  hasId: boolean;
  output: number;
}

function makeFamily(shapes: readonly { parent: number; cut: number; requests: RequestShape[] }[]): Family {
  const made: Family = { agentSessions: [], files: new Map(), requests: [], inherited: new Map() };
  const mains: Row[][] = [];
  for (const [index, shape] of shapes.entries()) {
    const session = `agent-session-${index}`;
    const parent = index === 0 ? [] : (mains[shape.parent % index] ?? []);
    const copied = parent.slice(0, Math.round((parent.length * shape.cut) / 100));
    const main: Row[] = [...copied];
    const lines = copied.map((row) => line(row, session));
    const subagent: string[] = [];
    for (const { outputs, hasId, priced, where } of shape.requests) {
      const message = `message ${made.requests.length}`;
      const meant = { message, payer: session, output: Math.max(...outputs), priced };
      made.requests.push(meant);
      const rows = outputs.map((output) => ({ meant, hasId: hasId || where === 'replayed', output }));
      if (where === 'subagent') {
        subagent.push(...rows.map((row) => line(row, session, true)));
        continue;
      }
      main.push(...rows);
      lines.push(...rows.map((row) => line(row, session)));
      if (where === 'replayed') {
        subagent.push(
          ...rows.map((row) => line(row, session, true).replace('"requestId":"', '"requestId":"replay ')),
        );
      }
    }
    made.agentSessions.push(session);
    made.files.set(`${session}.jsonl`, Buffer.from(lines.join('')));
    if (subagent.length > 0) made.files.set(`${session}-agent.jsonl`, Buffer.from(subagent.join('')));
    // A cut between two rows of one request still inherits the request.
    made.inherited.set(session, new Set(copied.map((row) => row.meant.message)));
    mains.push(main);
  }
  return made;
}

function line(row: Row, session: string, sideChain = false): string {
  const { message, payer, priced } = row.meant;
  return answer({
    message,
    ...(row.hasId ? { request: `request of ${message}` } : {}),
    session,
    ...(payer === session ? {} : { paidBy: payer }),
    sideChain,
    output: row.output,
    branch: `branch of ${session}`,
    ...(priced ? {} : { model: 'claude-nonesuch-9' }),
  });
}
