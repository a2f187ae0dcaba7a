import { join } from 'node:path';
import type { Session } from '../../sidecar/protocol/session.ts';
import { type ClaudeHome, prepareClaude } from './claude.ts';
import { ScriptedModel } from './model/scripted-model.ts';
import { type Files, type RepositoryOptions, TestRepository } from './repository.ts';
import { SidecarHarness } from './sidecar.ts';

export interface WorldOptions {
  files?: Files;
  repository?: RepositoryOptions;
  /** Whether the person has told the agent that they trust the repository. Default true. */
  trusted?: boolean;
  /** Whether the person has gone through the agent's first-run screens. Default true. */
  onboarded?: boolean;
  /** Variables on top of the person's environment. */
  env?: Record<string, string>;
}

/**
 * A person with a repository, the real CLI signed in to a scripted model, and a Fairlead of their own. Disposing ends
 * everything and fails when the model was asked something that no story told.
 */
export class World implements AsyncDisposable {
  readonly repository: TestRepository;
  readonly model: ScriptedModel;
  readonly claude: ClaudeHome;
  readonly fairlead: SidecarHarness;

  private constructor(
    repository: TestRepository,
    model: ScriptedModel,
    claude: ClaudeHome,
    fairlead: SidecarHarness,
  ) {
    this.repository = repository;
    this.model = model;
    this.claude = claude;
    this.fairlead = fairlead;
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const repository = TestRepository.with(
      options.files ?? { 'README.md': '# Demo\n', 'src/app.js': 'export const answer = 41;\n' },
      options.repository,
    );
    const model = await ScriptedModel.start();
    const claude = prepareClaude({
      home: join(repository.root, 'home'),
      modelUrl: model.url,
      trusted: options.trusted === false ? [] : [repository.folder],
      onboarded: options.onboarded ?? true,
    });
    const environment = {
      ...claude.env,
      ...repository.environment,
      PATH: claude.env.PATH ?? '',
      ...options.env,
    };
    return new World(repository, model, claude, new SidecarHarness(environment));
  }

  /** Starts a session in the repository; `args` as on the command line. */
  async start(prompt: string, ...args: string[]): Promise<Session> {
    const made = await this.fairlead.json<{ session: Session }>(['new', prompt, ...args], {
      cwd: this.repository.folder,
    });
    return made.session;
  }

  /** Runs a command in the repository and gives what it prints as JSON. */
  json<T = unknown>(...args: string[]): Promise<T> {
    return this.fairlead.json<T>(args, { cwd: this.repository.folder });
  }

  error(...args: string[]) {
    return this.fairlead.error(args, { cwd: this.repository.folder });
  }

  /** Waits for the end of the turn that runs, and gives the session. */
  async finished(session: string): Promise<Session> {
    return this.fairlead.until(session, ({ state }) => state === 'finished', 45_000);
  }

  async needsYou(session: string): Promise<Session> {
    return this.fairlead.until(session, ({ state }) => state === 'needs-you', 45_000);
  }

  /**
   * Waits until a tool of the agent asks, and its input is known: the terminal may tell that something is asked a
   * moment before the hook tells what.
   */
  async asks(session: string): Promise<Session> {
    return this.fairlead.until(
      session,
      ({ state, reason }) => state === 'needs-you' && reason?.input !== undefined,
      45_000,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.fairlead[Symbol.asyncDispose]();
      this.model.assertNothingUnmatched();
    } finally {
      await this.model.stop();
      this.repository[Symbol.dispose]();
    }
  }
}
