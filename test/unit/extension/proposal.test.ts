import { describe, expect, it } from 'vitest';
import * as vscode from 'vscode';
import { proposalOf } from '../../../extension/actions/proposal.ts';
import { sessionOf } from './support/sessions.ts';

const session = sessionOf({ id: 'one', worktree: '/worktrees/one' });

/** What a person gets to see of a tool's input, where the worktree has `files`. */
async function shown(tool: string, input: unknown, files: Readonly<Record<string, string>> = {}) {
  const texts = new Map<string, string>();
  const contents = async (params: object) => {
    const text = 'path' in params ? files[String(params.path)] : undefined;
    return { content: text === undefined ? null : Buffer.from(text).toString('base64') };
  };
  const proposal = await proposalOf(
    {
      connection: {
        request: async (_name: string, params: object): Promise<never> => (await contents(params)) as never,
      },
      documents: {
        put(group, name, text) {
          texts.set(name, text);
          return vscode.Uri.from({ scheme: 'text', authority: group, path: `/${name}` });
        },
      },
    },
    session,
    { kind: 'permission', message: 'May I?', tool, input },
  );
  const text = (uri: vscode.Uri | undefined) =>
    uri === undefined ? undefined : texts.get(uri.path.slice(1));
  const [before, after] = [text(proposal.before), text(proposal.after)];
  // What is said of the text itself leaves out the room above it.
  const bare = [before, after].every((each) => each === undefined || each.startsWith(ROOM)) ? ROOM.length : 0;
  return { title: proposal.title, before: before?.slice(bare), after: after?.slice(bare), room: bare };
}

const ROOM = '\n'.repeat(5);

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

describe('what a tool would do', () => {
  it('is a diff of the file for an edit in the worktree, with its path', async () => {
    const files = { 'src/app.js': 'one\n' };
    expect(await shown('Write', { file_path: '/worktrees/one/src/app.js', content: 'two\n' }, files)).toEqual(
      {
        title: 'src/app.js (Write, not applied yet)',
        before: 'one\n',
        after: 'two\n',
        room: 5,
      },
    );
    const edit = { file_path: 'src/app.js', old_string: 'one', new_string: 'three' };
    expect((await shown('Edit', edit, files)).after).toBe('three\n');
  });

  it('has room above it for the question, unless it is further down', async () => {
    const change = { file_path: 'a', old_string: 'end', new_string: 'new end' };
    const room = async (lines: number) =>
      (await shown('Edit', change, { a: `${'x\n'.repeat(lines)}end\n` })).room;
    expect([await room(0), await room(4), await room(5), await room(50)]).toEqual([5, 5, 0, 0]);
    expect((await shown('Write', { file_path: '/worktrees/one/new.js', content: 'x' })).room).toBe(5);
    expect((await shown('Bash', { command: 'ls' })).room).toBe(5);
    expect((await shown('Read', { file_path: 'a' })).room).toBe(5);
  });

  it('says that a file is new', async () => {
    const { title, before } = await shown('Write', { file_path: '/worktrees/one/src/new.js', content: '' });
    expect([title, before]).toEqual(['src/new.js (Write, new file, not applied yet)', '']);
  });

  it.each([
    ['/home/me/.bashrc', '/home/me/.bashrc'],
    ['~/.bashrc', '~/.bashrc'],
    ['../../me/.bashrc', '/me/.bashrc'],
    ['/worktrees/one/src/../../.bashrc', '/worktrees/.bashrc'],
  ])('says that %s was not read, and names it in full', async (given, file) => {
    const { title, before, after } = await shown('Write', { file_path: given, content: 'mine\n' });
    expect(title).toBe(`${file} (Write, not read, not applied yet)`);
    expect(before).toContain('was not read');
    expect(after).toBe('mine\n');
  });

  it('is the input for an edit of a file that was not read', async () => {
    const input = { file_path: '/home/me/.bashrc', old_string: '', new_string: 'mine\n' };
    expect(await shown('Edit', input)).toEqual({
      title: 'Edit',
      before: undefined,
      after: json(input),
      room: 5,
    });
  });

  it('goes by the tool, not by the names of its fields', async () => {
    const write = { file_path: '/worktrees/one/a', content: 'x', mode: '0777' };
    expect((await shown('mcp__files__Write', write)).after).toBe(json(write));
    const run = { command: 'ls', host: 'production' };
    expect((await shown('mcp__ssh__run', run)).after).toBe(json(run));
    expect((await shown('constructor', run)).after).toBe(json(run));
  });

  it('is the whole input where a field would not be shown otherwise', async () => {
    const write = { file_path: '/worktrees/one/a', content: 'x', append: true };
    expect((await shown('Write', write)).after).toBe(json(write));
    const bash = { command: 'ls', sandbox: false };
    expect((await shown('Bash', bash)).after).toBe(json(bash));
    for (const more of [{ allowedPrompts: ['anything'] }, { allowedPrompts: 'all' }, { mode: 'auto' }]) {
      const plan = { plan: 'Do it.', ...more };
      expect((await shown('ExitPlanMode', plan)).after).toBe(json(plan));
    }
  });

  it('is a command with everything that is said of it above', async () => {
    const { after } = await shown('Bash', {
      command: 'npm test',
      description: 'Test\u2028rm -rf /',
      timeout: 60,
      run_in_background: true,
    });
    expect(after).toBe('# Test\n# rm -rf /\n# timeout: 60\n# run_in_background: true\nnpm test\n');
  });

  it('is a plan below all that is asked for along with it', async () => {
    const allowedPrompts = [{ tool: 'Bash', prompt: 'run tests\nand more' }];
    const { after } = await shown('ExitPlanMode', { plan: '1. Do it.', allowedPrompts });
    expect(after).toBe('Asked for along with the plan:\n\n- Bash: run tests and more\n\n---\n\n1. Do it.');
  });

  it('is a plan as it was written', async () => {
    const plan = { plan: '1. Do it.', planFilePath: '/home/ada/.claude/plans/do-it.md' };
    expect((await shown('ExitPlanMode', plan)).after).toBe('1. Do it.');
  });
});
