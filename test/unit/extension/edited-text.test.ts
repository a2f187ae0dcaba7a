import { describe, expect, it } from 'vitest';
import { editedText } from '../../../extension/actions/edited-text.ts';

describe('the text that an edit would leave', () => {
  it('is the whole of a Write', () => {
    expect(editedText('old', { file_path: '/a', content: 'new' })).toBe('new');
    expect(editedText(undefined, { file_path: '/a', content: '' })).toBe('');
  });

  it('has one place replaced, or all of them', () => {
    const edit = { old_string: 'a', new_string: 'b' };
    expect(editedText('a a', edit)).toBe('b a');
    expect(editedText('a a', { ...edit, replace_all: true })).toBe('b b');
  });

  it('has several replacements in their order', () => {
    const edits = [
      { old_string: 'one', new_string: 'two' },
      { old_string: 'two', new_string: 'three' },
    ];
    expect(editedText('one', { edits })).toBe('three');
  });

  it('takes what looks like a pattern as text', () => {
    expect(editedText('x', { old_string: 'x', new_string: "$& $1 $'" })).toBe("$& $1 $'");
  });

  it('is that of a new file where an empty place is replaced', () => {
    expect(editedText(undefined, { old_string: '', new_string: 'new' })).toBe('new');
    expect(editedText('there', { old_string: '', new_string: 'new' })).toBeUndefined();
  });

  it('is not known for what does not fit, and for what is no edit', () => {
    expect(editedText('x', { old_string: 'y', new_string: 'z' })).toBeUndefined();
    expect(editedText('x', { command: 'ls' })).toBeUndefined();
    expect(editedText('x', { edits: [{ old_string: 1 }] })).toBeUndefined();
  });
});
