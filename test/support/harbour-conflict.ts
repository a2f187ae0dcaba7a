import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Conversation } from './model/conversation.ts';
import { exactPrompt, prompt } from './model/story.ts';
import type { World } from './world.ts';

/** The beginning of what an agent is told of a conflict. */
export const ASKED = /(conflicts with what has landed there meanwhile|is not resolved yet)/;

/** What both sessions of a conflict change. */
const FILE = 'src/app.js';
const answer = (...lines: string[]) => lines.map((line) => `export const ${line};\n`).join('');

/** The person lets their agents run any command. */
export function allowCommands(world: World): void {
  const settings = { permissions: { allow: ['Bash'] } };
  writeFileSync(join(world.claude.configDir, 'settings.json'), JSON.stringify(settings));
}

/** A session that has written, and not committed, what `lines` say. */
export async function writes(world: World, title: string, path: string, content: string): Promise<Session> {
  world.model
    .when(exactPrompt(title))
    .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/${path}`, content }))
    .thenSays('Written.');
  const session = await world.start(title, '--mode', 'acceptEdits');
  return world.finished(session.id);
}

/** Two sessions that change the same line, of `file`. */
export async function rivals(world: World, file = FILE): Promise<[Session, Session]> {
  const where = file === FILE ? '' : ` in ${file}`;
  const first = await writes(world, `Say forty-two${where}`, file, answer('answer = 42'));
  const second = await writes(world, `Count the boats${where}`, file, answer('answer = 41', 'boats = 3'));
  return [first, second];
}

/** Both intents. */
export const RESOLVED = answer('answer = 42', 'boats = 3');

/** What an agent does that resolves the conflict, with tools alone. `waitsFor`: before it writes. */
export function resolves(world: World, more: { waitsFor?: () => Promise<unknown> } = {}) {
  const file = ({ prompts }: Conversation) => /^- (.*)$/m.exec(prompts.at(-1) ?? '')?.[1] ?? '';
  const path = (at: Conversation) => `${at.cwd}/${file(at)}`;
  const story = world.model
    .when(prompt(ASKED))
    .callsTool('Read', (at) => ({ file_path: path(at) }))
    .thenCallsTool('Write', (at) => ({ file_path: path(at), content: RESOLVED }));
  if (more.waitsFor !== undefined) story.waitsFor(more.waitsFor);
  return story
    .thenCallsTool('Bash', (at) => ({ command: `git add ${file(at)}`, description: 'Mark it as resolved' }))
    .thenCallsTool('Bash', {
      command: 'GIT_EDITOR=true git commit --no-edit',
      description: 'Commit the merge',
    })
    .thenSays('Both are in now.');
}
