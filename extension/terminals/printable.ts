import { stripVTControlCharacters } from 'node:util';

/** `text` in one line, without what a terminal would act on: git and servers have written parts of it. */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
}
