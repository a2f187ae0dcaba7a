import { askInTextBox, type TextBoxOptions, type TextEnd, type Words } from '../../window/text-box.ts';
import type { Draft, Writing } from './drafts.ts';

/** Asks for the text of a draft, which has every letter as it is typed. What is accepted is trimmed. */
export async function askForDraft(
  words: Words,
  { draft, type, token }: Writing<Draft>,
  options: Pick<TextBoxOptions, 'hasEditor'> = {},
): Promise<TextEnd> {
  const end = await askInTextBox(words, {
    ...options,
    text: draft.text,
    onDidType: type,
    token,
  });
  if (end.kind === 'accepted') draft.text = end.text;
  return end;
}
