import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ScriptedModel } from '../../support/model/scripted-model.ts';
import { bothOf, exactPrompt, firstPrompt, prompt } from '../../support/model/story.ts';

let model: ScriptedModel;
beforeEach(async () => {
  model = await ScriptedModel.start();
});
afterEach(() => model.stop());

type Message = { role: string; content: unknown };
const user = (content: unknown): Message => ({ role: 'user', content });
const assistant = (content: unknown): Message => ({ role: 'assistant', content });

async function ask(messages: Message[], more: { session?: string; tools?: string[]; url?: string } = {}) {
  const response = await fetch(`${more.url ?? model.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-claude-code-session-id': more.session ?? 'one' },
    body: JSON.stringify({
      model: 'claude-opus-5-5',
      stream: true,
      messages,
      tools: (more.tools ?? ['Bash']).map((name) => ({ name })),
    }),
  });
  const text = await response.text().catch(() => 'cut');
  const events = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
  return { status: response.status, text, events };
}
const saidBy = (events: { type: string; delta?: { text?: string } }[]) =>
  events.map((event) => event.delta?.text ?? '').join('');

describe('the scripted model', () => {
  test('answers a prompt, then what follows its tool results', async () => {
    model
      .when(prompt('add a greeting'))
      .says('I write it.')
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/a` }))
      .usage({ input: 7, output: 9, cacheWrite1h: 5 })
      .thenSays('Done.');
    const system: Message = { role: 'system', content: '# Environment\n - Primary working directory: /w/a' };
    const first = await ask([user('please add a greeting'), system]);
    expect(saidBy(first.events)).toBe('I write it.');
    expect(first.text).toContain('/w/a/a');
    expect(first.events.at(-2)).toMatchObject({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use' },
      usage: { input_tokens: 7, output_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 5 } },
    });
    const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' };
    const second = await ask([user('please add a greeting'), assistant('…'), user([result])]);
    expect(saidBy(second.events)).toBe('Done.');
    expect(model.asked('add a greeting')).toHaveLength(2);
    model.assertNothingUnmatched();
  });

  test('fails the test loudly for what no story answers, naming the request', async () => {
    const { status, text } = await ask([user('something else')]);
    expect(status).toBe(400);
    expect(text).toContain('something else');
    expect(() => model.assertNothingUnmatched()).toThrow('something else');
  });

  test('fails the test when a story has too few replies', async () => {
    model.when(prompt('hello')).says('Hi.');
    const { status, text } = await ask([
      user('hello'),
      assistant('Hi.'),
      user([{ type: 'tool_result', tool_use_id: 't' }]),
    ]);
    expect(status).toBe(400);
    expect(text).toContain('has 1 replies');
  });

  test('reads past what the CLI adds, and finds what was sent while the model worked', async () => {
    model.when(exactPrompt('and this')).says('Yes.');
    const wrapped =
      'The user sent a new message while you were working:\nand this\n\nThis is how Claude Code surfaces messages';
    const { events } = await ask([
      user([
        { type: 'text', text: '<system-reminder>x</system-reminder>' },
        { type: 'text', text: 'first' },
      ]),
      assistant('…'),
      user([
        { type: 'tool_result', tool_use_id: 't' },
        { type: 'text', text: wrapped },
      ]),
    ]);
    expect(saidBy(events)).toBe('Yes.');
  });

  test('fails as often as told, then answers', async () => {
    model.when(prompt('hello')).says('Hi.').failsWith(529).failsWith(429);
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await ask([user('hello')])).status);
    expect(statuses).toEqual([529, 429, 200]);
  });

  test('always fails, breaks off and drops the connection', async () => {
    model.when(prompt('refuse')).alwaysFailsWith(401, 'no key');
    model.when(prompt('break')).says('part').overloadsMidStream();
    model.when(prompt('drop')).says('part').dropsConnection();
    expect(await ask([user('refuse')])).toMatchObject({ status: 401 });
    expect((await ask([user('break')])).events.at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error' },
    });
    expect(await ask([user('drop')])).toMatchObject({ text: 'cut' });
  });

  test('hangs until the client leaves, and knows that it did', async () => {
    model.when(prompt('hang')).says('part').hangs();
    const leaving = new AbortController();
    const asked = fetch(`${model.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: [user('hang')], tools: [{ name: 'Bash' }] }),
      signal: leaving.signal,
    }).then((response) => response.text());
    await model.waitFor((request) => request.kind === 'story');
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await model.waitFor((request) => request.abandoned);
  });

  test('serves sessions side by side, and tells a story once where it should', async () => {
    model.when(prompt('hello')).says('first').once();
    model.when(prompt('hello')).says('second');
    model.when(bothOf(firstPrompt('hello'), prompt('bye'))).says('Bye.');
    const [one, two] = await Promise.all(['one', 'two'].map((session) => ask([user('hello')], { session })));
    expect([one, two].map((answer) => saidBy(answer?.events ?? [])).sort()).toEqual(['first', 'second']);
    expect(saidBy((await ask([user('hello'), assistant('…'), user('bye')])).events)).toBe('Bye.');
  });

  test('answers titles and counts without a story', async () => {
    expect((await ask([user('title, please')], { tools: [] })).status).toBe(200);
    const counted = await fetch(`${model.url}/v1/messages/count_tokens`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: [user('hello')] }),
    });
    expect(await counted.json()).toMatchObject({ input_tokens: expect.any(Number) });
    expect(model.requests.map(({ kind }) => kind)).toEqual(['side', 'count']);
    model.assertNothingUnmatched();
  });

  test('runs as a process of its own, and ends with its stdin', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-model-'));
    const stories = join(folder, 'stories.ts');
    const support = resolve('test/support/model/story.ts');
    writeFileSync(
      stories,
      `import { prompt } from ${JSON.stringify(support)};
       export default (model) => { model.when(prompt('hello')).says('Hi.'); };`,
    );
    const child = spawn(process.execPath, ['test/support/model/main.ts', stories], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const [line] = await once(createInterface(child.stdout), 'line');
      const { url } = JSON.parse(String(line));
      expect(saidBy((await ask([user('hello')], { url })).events)).toBe('Hi.');
      child.stdin.end();
      expect(await once(child, 'exit')).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
