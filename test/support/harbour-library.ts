/** The files of a small library: what the demo and the tests in a window play with. */
export const HARBOUR = {
  'README.md': '# Harbour\n\nA small library that counts boats.\n',
  'src/harbour.js': [
    'export class Harbour {',
    '  #boats = new Map();',
    '',
    '  enter(name, length) {',
    '    this.#boats.set(name, length);',
    '  }',
    '',
    '  leave(name) {',
    '    this.#boats.delete(name);',
    '  }',
    '',
    '  get count() {',
    '    return this.#boats.size;',
    '  }',
    '}',
    '',
  ].join('\n'),
};

/** An edit of `src/harbour.js`, as Claude Code's tool `Edit` takes it. */
export const ADD_LONGEST = {
  old_string: '  get count() {',
  new_string: [
    '  longest() {',
    '    let longest;',
    '    for (const [name, length] of this.#boats) {',
    '      if (longest === undefined || length > this.#boats.get(longest)) longest = name;',
    '    }',
    '    return longest;',
    '  }',
    '',
    '  get count() {',
  ].join('\n'),
};

/** A section for the end of its README. */
export const USAGE = [
  '',
  '## Usage',
  '',
  '```js',
  "import { Harbour } from './src/harbour.js';",
  '',
  'const harbour = new Harbour();',
  "harbour.enter('Aurora', 12);",
  'console.log(harbour.count);',
  '```',
  '',
].join('\n');
