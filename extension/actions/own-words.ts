import type { Session } from '../../sidecar/protocol/session.ts';
import { nameOf } from '../fleet/session-name.ts';
import { askForDraft } from './prompts/draft-box.ts';
import type { Prompts } from './prompts/prompts.ts';

/** Asks why the session may not do what it asks; what denies it, undefined when it was left or goes on in an editor. */
export async function askWhyNot(
  { answers, editors, needOfEditor }: Prompts,
  session: Session,
  need: number,
): Promise<string | undefined> {
  const place = `${session.id} denial`;
  const writing = answers.write(place, { text: '' });
  const { draft } = writing;
  const words = {
    title: `Deny: ${nameOf(session)}`,
    prompt: 'What the agent shall do instead',
    missing: 'Say what the agent shall do instead.',
  };
  const end = await askForDraft(words, writing, { hasEditor: true });
  if (end.kind === 'accepted') return `deny: ${end.text}`;
  if (end.kind === 'editor') {
    const uri = await editors.open(`Denial for ${session.id}`, draft.text);
    needOfEditor.set(uri.toString(), need);
    answers.take(place, draft);
  } else answers.leave(place, draft);
  return undefined;
}

/** Asks for an answer to one question of a session; undefined when it was left. It is one line: a line is an answer. */
export async function askInOwnWords(
  { answers }: Prompts,
  session: Session,
  title: string,
  question: string,
): Promise<string | undefined> {
  const place = `${session.id} ${question}`;
  const writing = answers.write(place, { text: '' });
  const words = {
    title,
    prompt: question,
    missing: 'Write the answer, or press Escape to leave the question.',
  };
  const end = await askForDraft(words, writing);
  if (end.kind === 'accepted') return end.text;
  answers.leave(place, writing.draft);
  return undefined;
}

/** To be called once an answer was given: what was written for it is no draft any more. */
export function forgetAnswers({ answers }: Prompts, session: string): void {
  answers.forget(`${session} `);
}
