const PASTE_START = '\u001b[200~';
const PASTE_END = '\u001b[201~';

/** The key that submits a prompt. Sent apart from the text: within one write a program takes it as part of a paste. */
export const ENTER = '\r';

/** The key that interrupts an agent's turn. */
export const ESCAPE = '\u001b';

/**
 * `text` as a terminal sends a paste to a program that asked for bracketed paste (mode 2004): nothing in it can end
 * the paste or act as a key. Lines are parted by CR, as keys would part them.
 */
export function bracketedPaste(text: string): string {
  return `${PASTE_START}${pasteText(text)}${PASTE_END}`;
}

/**
 * `text` without escape sequences and control characters, tabs and line ends kept; every line end becomes CR.
 * Sequences go whole: without its ESC `[201~` would be left as text.
 */
export function pasteText(text: string): string {
  return text
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '')
    .replace(/(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g, '')
    .replace(/\u001b(?:[NO][ -~]|[ -/]*[0-~]?)/g, '')
    .replace(/\r\n|\r|\n|\u0085|\u2028|\u2029/g, '\r')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}
