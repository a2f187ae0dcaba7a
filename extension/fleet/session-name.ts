import type { Session } from '../../sidecar/protocol/session.ts';

/** Characters of a title in a message, which VS Code cuts off at the end: what happened is to be read. */
const MAX_TITLE = 40;

/** What a session is called where one of several attempts at a prompt is to be told from the others. */
export function nameOf({ title, attempt }: Pick<Session, 'title' | 'attempt'>): string {
  return attempt === null ? title : `${title} #${attempt}`;
}

/** As {@link nameOf}, for a message, which goes on after it: the end of a sentence in the title is left out. */
export function shortNameOf({ title, attempt }: Pick<Session, 'title' | 'attempt'>): string {
  const characters = [...title.replace(/[\s.:;,]+$/, '')];
  const short =
    characters.length <= MAX_TITLE
      ? characters.join('')
      : `${characters
          .slice(0, MAX_TITLE - 1)
          .join('')
          .trim()}…`;
  return nameOf({ title: short, attempt });
}
