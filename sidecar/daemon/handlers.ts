import type { Ledger } from '../cost/ledger.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import type { Paths } from '../platform/paths.ts';
import { FairleadError } from '../protocol/errors.ts';
import * as protocol from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import type { MergeQueue } from '../queue/merge-queue.ts';
import type { FleetEvents } from '../sessions/events.ts';
import type { Fleet } from '../sessions/fleet.ts';
import type { Report } from '../sessions/progress.ts';
import { type Client, type Handler, type Handlers, parse, type RequestEnd } from './client.ts';
import type { PersonLink } from './person-link.ts';
import { progressOf } from './progress.ts';
import type { StopOptions, Stopped } from './stop-request.ts';

type DiffRequest = z.output<typeof protocol.Diff.params>;

export interface Parts {
  fleet: Fleet;
  queue: MergeQueue;
  ledger: Ledger;
  events: FleetEvents;
  paths: Paths;
  person: PersonLink;
  status(): Promise<protocol.SidecarStatus>;
  doctor(folder: string | null, client: Client): Promise<protocol.Finding[]>;
  stop(options: StopOptions, asker: Client, report: Report): Promise<Stopped>;
  /** Sends this client everything that happens from here on. */
  follow(client: Client): void;
  /** @throws FairleadError `base.missing`: nothing lands on such a branch, and no repository has it */
  requireBase(base: string, environment: Readonly<Record<string, string>>): Promise<void>;
  diff(request: DiffRequest, signal: AbortSignal): Promise<string>;
  changes(session: string, signal: AbortSignal): Promise<z.input<typeof protocol.Changes.result>>;
  contents(session: string, path: string, commit: string | undefined): Promise<Buffer | null>;
  findRepository(
    request: z.output<typeof protocol.FindRepository.params>,
    environment: Readonly<Record<string, string>>,
  ): Promise<z.input<typeof protocol.FindRepository.result>>;
}

/** Every request, and what does it. The one place where the wire meets the parts. */
export function handlersOf(parts: Parts): Handlers {
  const { fleet, queue, ledger, events, paths, person } = parts;
  const handlers = new Map<string, Handler>();
  const on = <P extends z.ZodMiniType, R extends z.ZodMiniType>(
    kind: protocol.RequestKind<P, R>,
    run: (
      params: z.output<P>,
      client: Client,
      until: RequestEnd,
      report: Report,
    ) => Promise<z.input<R>> | z.input<R>,
  ) =>
    handlers.set(kind.method, async (params, client, until) => {
      if (client.info === undefined)
        throw new FairleadError('params.invalid', 'The client did not initialize.');
      // A ping tells of the program only.
      if (kind.method !== protocol.Ping.method) person.heard(client);
      const progress = progressOf(params, client);
      try {
        return await run(parse(kind.params, params), client, until, progress.report);
      } finally {
        progress.end();
      }
    });

  on(protocol.Ping, () => ({}));
  on(protocol.Status, () => parts.status());
  on(protocol.Doctor, ({ folder }, client) => parts.doctor(folder, client));
  on(protocol.StopSidecar, (options, client, _until, report) => parts.stop(options, client, report));
  on(protocol.Askpass, async ({ question, token }, _client, { signal }) => ({
    answer: await person.ask(question, token, signal),
  }));

  // Any client may come: what an agent must not inherit is not left to each to take out.
  on(protocol.NewSession, (request, client, until, report) =>
    fleet.create(request, cleanEnvironment(client.environment), until, report),
  );
  on(protocol.ListSessions, (filter) => fleet.list(filter));
  on(protocol.ShowSession, ({ session }) => fleet.show(session));
  on(protocol.SendPrompt, ({ session, text, requestId }, _client, until) =>
    fleet.send(session, text, until, requestId),
  );
  on(protocol.Answer, ({ session, answer, need }) => fleet.answer(session, answer, need));
  on(protocol.ShowNeed, ({ session }) => fleet.need(session));
  on(protocol.UnsentPrompts, ({ session }) => ({ prompts: fleet.unsentPrompts(session) }));
  on(protocol.Interrupt, ({ session }) => fleet.interrupt(session));
  on(protocol.Wait, ({ session, goal, timeoutSeconds }, _client, { signal }) =>
    fleet.wait(session, goal, timeoutSeconds === undefined ? undefined : timeoutSeconds * 1_000, signal),
  );
  on(protocol.Resume, ({ session }) => fleet.resume(session));
  on(protocol.Rename, ({ session, title }) => fleet.rename(session, title));
  on(protocol.MarkRead, ({ session }) => fleet.markRead(session));
  on(protocol.Attach, async ({ session, pane }) => ({
    socket: paths.ptyhostSocket,
    ...(await fleet.attach(session, pane)),
  }));
  on(protocol.Turns, ({ session }) => fleet.turns(session));
  on(protocol.Diff, async (request, _client, { signal }) => ({ text: await parts.diff(request, signal) }));
  on(protocol.Changes, ({ session }, _client, { signal }) => parts.changes(session, signal));
  on(protocol.Contents, async ({ session, path, commit }) => ({
    content: (await parts.contents(session, path, commit))?.toString('base64') ?? null,
  }));
  on(protocol.FindRepository, (request, client) =>
    parts.findRepository(request, cleanEnvironment(client.environment)),
  );
  on(protocol.Stop, ({ session }) => fleet.stopSession(session));
  on(protocol.Archive, ({ session }, _client, { revoked }, report) =>
    fleet.archive(session, report, revoked),
  );

  on(protocol.LandPreview, ({ session }) => {
    fleet.requireWork(session);
    return queue.preview(session);
  });
  on(protocol.Land, (request) => {
    fleet.requireWork(request.session);
    return queue.land(request);
  });
  on(protocol.ListQueue, async (filter, client) => {
    if (filter.base !== undefined) {
      await parts.requireBase(filter.base, cleanEnvironment(client.environment));
    }
    return queue.list(filter);
  });
  on(protocol.Unqueue, ({ session }) => queue.remove(session));

  on(protocol.CostSummary, ({ session, by, since }) =>
    ledger.summary({ session: session === undefined ? undefined : fleet.show(session).id, by, since }),
  );
  on(protocol.FollowEvents, ({ after, follow }, client) => {
    const past = events.after(after);
    if (follow) parts.follow(client);
    return { events: past, seq: past.at(-1)?.seq ?? after };
  });
  return handlers;
}
