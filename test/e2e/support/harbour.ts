import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { CLAUDE } from '../../support/claude.ts';
import { ASKED } from '../../support/harbour-conflict.ts';
import { ADD_LONGEST, HARBOUR, USAGE } from '../../support/harbour-library.ts';
import { exactPrompt, prompt } from '../../support/model/story.ts';
import type { TestRepository } from '../../support/repository.ts';
import type { World } from '../../support/world.ts';

const README = HARBOUR['README.md'].replace('boats.', 'boats of any length.') + USAGE;

const PLAN = '# A pier\n\n1. Sound the depth.\n2. Drive the piles.\n';

/** A fleet with a session in every state that a person meets often. */
export class Harbour {
  readonly #world: World;
  /** The clone that the person works in. */
  readonly repository: TestRepository;
  /** Another repository of theirs, which no window is open on. */
  readonly other: TestRepository;
  readonly #gate = Promise.withResolvers<void>();

  constructor(world: World) {
    this.#world = world;
    this.repository = this.#clone('harbour');
    this.other = this.#clone('lighthouse');
  }

  #clone(name: string): TestRepository {
    const { repository, claude } = this.#world;
    if (repository.tryGit('remote', 'get-url', 'origin').exitCode !== 0) repository.withRemote();
    const clone = repository.clone(name);
    claude.trust(clone.folder);
    return clone;
  }

  /** Ends what works for ever. */
  release(): void {
    this.#gate.resolve();
  }

  async start(title: string, ...args: string[]): Promise<Session> {
    const made = await this.#json<{ session: Session }>(['new', title, ...args]);
    return made.session;
  }

  /** Asks for a permission to edit a file. */
  async asksPermission(title = 'Add longest() to Harbour'): Promise<Session> {
    this.#world.model
      .when(prompt(title))
      .says('I add the method beside the count.')
      .callsTool('Edit', ({ cwd }) => ({
        file_path: `${cwd}/src/harbour.js`,
        ...ADD_LONGEST,
      }))
      .usage({ input: 1_200, output: 240, cacheWrite5m: 14_000 })
      .thenSays('longest() is there.');
    const { id } = await this.start(title, '--mode', 'manual');
    return this.#world.fairlead.until(id, ({ reason }) => reason?.input !== undefined, 45_000);
  }

  /** Is told no, and is gone with all that it was. */
  async withdraws({ id, branch }: Session): Promise<void> {
    await this.#json(['answer', id, 'deny']);
    await this.#world.finished(id);
    await this.#json(['archive', id]);
    this.repository.git('branch', '--delete', branch);
  }

  async asksQuestion(title = 'Choose a licence'): Promise<Session> {
    const question = {
      question: 'Which licence shall it be?',
      header: 'Licence',
      options: [
        { label: 'Apache-2.0', description: 'Permissive, with a patent grant' },
        { label: 'MIT', description: 'Permissive and short' },
      ],
      multiSelect: false,
    };
    this.#world.model
      .when(prompt(title))
      .callsTool('AskUserQuestion', { questions: [question] })
      .thenSays('So be it.');
    const { id } = await this.start(title);
    return this.#world.fairlead.until(id, ({ reason }) => reason?.options !== undefined, 45_000);
  }

  /** Works until {@link release}. */
  async works(title = 'Write the tests of Harbour'): Promise<Session> {
    this.#world.model
      .when(prompt(title))
      .says('I read the class first.')
      .callsTool('Read', ({ cwd }) => ({ file_path: `${cwd}/src/harbour.js` }))
      .usage({ input: 900, output: 60, cacheWrite5m: 9_000 })
      .andThen()
      .waitsFor(() => this.#gate.promise)
      .says('The tests are there.');
    const { id } = await this.start(title);
    await this.#world.model.waitFor((request) =>
      (request.conversation?.prompts.at(-1) ?? '').includes(title),
    );
    return this.#world.fairlead.until(id, ({ state }) => state === 'working');
  }

  /** Has written `path` and finished. Its title stands in what it is told of a conflict as well. */
  async finishes(title = 'Write a usage section', path = 'README.md', content = README): Promise<Session> {
    this.#world.model
      .when(exactPrompt(title))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/${path}`, content }))
      .usage({ input: 1_100, output: 180, cacheWrite5m: 12_000 })
      .thenSays(`${path} is there.`);
    const { id } = await this.start(title, '--mode', 'acceptEdits');
    return this.#world.finished(id);
  }

  /** Two sessions that try the same. */
  async attempts(title = 'Make the count faster'): Promise<Session[]> {
    for (const word of ['first', 'second'])
      this.#world.model
        .when(prompt(title))
        .says(`The ${word} attempt is done.`)
        .usage({ input: 800, output: 90, cacheWrite5m: 7_000 });
    const made = await this.#json<{ attempts: Session[] }>(['new', title, '--attempts', '2']);
    return Promise.all(made.attempts.map(({ id }) => this.#world.finished(id)));
  }

  /** Was interrupted by the person. */
  async interrupted(title = 'Tidy the quay'): Promise<Session> {
    this.#world.model.when(prompt(title)).says('Let me see.').hangs();
    const { id } = await this.start(title);
    await this.#world.fairlead.until(id, ({ state }) => state === 'working');
    await this.#json(['interrupt', id]);
    return this.#world.finished(id);
  }

  /** Has made a plan, and asks whether it is the right one. */
  async plans(title = 'Plan the new pier'): Promise<Session> {
    this.#world.model
      .when(prompt(title))
      .callsTool('Write', ({ planFile }) => ({ file_path: planFile, content: PLAN }))
      .andThen()
      .callsTool('ExitPlanMode', {})
      .thenSays('Then I begin.');
    const { id } = await this.start(title, '--mode', 'plan');
    return this.#world.fairlead.until(id, ({ reason }) => reason?.kind === 'plan', 45_000);
  }

  /** Could not get an answer of the model. */
  async fails(title = 'Read the tide table'): Promise<Session> {
    this.#world.model.when(prompt(title)).alwaysFailsWith(400, 'The tide table is too long.');
    const { id } = await this.start(title);
    return this.#world.fairlead.until(id, ({ reason }) => reason?.kind === 'api-error', 45_000);
  }

  /** Has changed what is on its base by now in another way. Begun with, and then {@link conflicts} after the other. */
  rewrites(title = 'Rewrite the changelog'): Promise<Session> {
    return this.finishes(title, 'CHANGELOG.md', '# All that has changed\n');
  }

  async conflicts(session: string): Promise<Session> {
    const config = join(this.#world.fairlead.home, 'config.toml');
    writeFileSync(config, '[land]\nhandBack = false\n');
    await this.#world.fairlead.run(['land', session, '--to', 'local', '--yes'], {
      cwd: this.repository.folder,
    });
    const conflicting = await this.#world.fairlead.until(session, ({ state }) => state === 'needs-you');
    // Conflicts of others are their agents'.
    rmSync(config);
    return conflicting;
  }

  /** Has changed the same as {@link rewrites}. Begun with, and then {@link resolves} after the other. */
  lists(title = 'List the boats by year'): Promise<Session> {
    return this.finishes(title, 'CHANGELOG.md', '# Boats by year\n');
  }

  /** Its agent has been given a conflict, and is at it until {@link release}. */
  async resolves(session: string): Promise<Session> {
    this.#world.model
      .when(prompt(ASKED))
      .says('I read both sides first.')
      .callsTool('Read', ({ cwd }) => ({ file_path: `${cwd}/CHANGELOG.md` }))
      .andThen()
      .waitsFor(() => this.#gate.promise)
      .says('Both are in now.');
    await this.#json(['land', session, '--to', 'local', '--yes', '--no-wait']);
    await this.#world.model.waitFor(
      ({ conversation }) =>
        (conversation?.toolResults.length ?? 0) > 0 && ASKED.test(conversation?.prompts.at(-1) ?? ''),
    );
    return this.#world.fairlead.until(session, ({ state }) => state === 'resolving');
  }

  /** Is there, and has no agent yet. */
  async rests(title = 'Chart the reef'): Promise<Session> {
    return this.start(title, '--no-start');
  }

  /** Waits for its first prompt. */
  async waits(title = 'Look out to sea'): Promise<Session> {
    const { session } = await this.#json<{ session: Session }>(['new', '--title', title]);
    return this.#world.fairlead.until(session.id, ({ state }) => state === 'idle');
  }

  /** Starts until it is told to `goOn`: its agent is slow to come. */
  async begins(title = 'Trim the lamps'): Promise<{ session: Session; goOn: () => void }> {
    const folder = join(this.#world.repository.root, 'slow');
    mkdirSync(folder);
    const gate = join(folder, 'gate');
    const waits = `case "$*" in *--session-id*) while [ ! -e '${gate}' ]; do sleep 0.1; done;; esac`;
    writeFileSync(join(folder, 'claude'), `#!/bin/sh\n${waits}\nexec '${CLAUDE}' "$@"\n`, { mode: 0o755 });
    this.#world.model.when(prompt(title)).says('They are trimmed.');
    const { session } = await this.#world.fairlead.json<{ session: Session }>(['new', title], {
      cwd: this.repository.folder,
      env: { PATH: `${folder}:${this.#world.fairlead.environment.PATH}` },
    });
    await this.#world.fairlead.until(session.id, ({ state }) => state === 'starting');
    return { session, goOn: () => writeFileSync(gate, '') };
  }

  async sleeps(title = 'Look into the slow start'): Promise<Session> {
    this.#world.model.when(prompt(title)).says('It is the cold cache.').usage({ input: 700, output: 40 });
    const { id } = await this.start(title);
    await this.#world.finished(id);
    await this.#json(['stop', id]);
    return this.#world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping');
  }

  async landed(title = 'Start a changelog'): Promise<Session> {
    const { id } = await this.finishes(title, 'CHANGELOG.md', '# Changelog\n');
    await this.land(id);
    return this.#world.fairlead.until(id, ({ state }) => state === 'landed');
  }

  /** Lands in this clone; with `check` it stays on its way for as long as that runs. */
  async land(session: string, check?: string): Promise<void> {
    const wait = check === undefined ? [] : ['--check', check, '--no-wait'];
    await this.#json(['land', session, '--to', 'local', '--yes', ...wait]);
  }

  /** A session in the other repository. */
  async elsewhere(title = 'Repaint the lamp room'): Promise<Session> {
    this.#world.model
      .when(prompt(title))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/docs/lamp.md`, content: '# The lamp\n' }))
      .thenSays('Painted.');
    const { session } = await this.#world.fairlead.json<{ session: Session }>(
      ['new', title, '--mode', 'acceptEdits'],
      { cwd: this.other.folder },
    );
    return this.#world.finished(session.id);
  }

  #json<T>(args: string[]): Promise<T> {
    return this.#world.fairlead.json<T>(args, { cwd: this.repository.folder });
  }
}
