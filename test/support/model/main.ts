import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ScriptedModel } from './scripted-model.ts';

/**
 * A scripted model as a process of its own: `node test/support/model/main.ts STORIES [PORT]`.
 * STORIES is a module whose default export takes the {@link ScriptedModel} and tells it stories.
 * Prints `{"url":…}` as its first line and ends with its stdin, or on SIGTERM.
 */
const [stories, port] = process.argv.slice(2);
if (stories === undefined) {
  console.error('usage: node test/support/model/main.ts STORIES [PORT]');
  process.exit(2);
}
const module: { default: (model: ScriptedModel) => void | Promise<void> } = await import(
  pathToFileURL(resolve(stories)).href
);
const model = await ScriptedModel.start(Number(port ?? 0));
await module.default(model);
console.log(JSON.stringify({ url: model.url }));
const end = () => void model.stop().then(() => process.exit(0));
process.once('SIGTERM', end);
process.stdin.once('end', end).resume();
