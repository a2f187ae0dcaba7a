import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../extension/commands.ts';
import { DEFAULTS } from '../../../extension/window/setting.ts';
import * as z from '../../../sidecar/protocol/zod.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
/** One for each kind of theme. */
const Pictures = z.strictObject({ dark: z.string(), light: z.string(), hc: z.string(), hcLight: z.string() });
const Manifest = z.looseObject({
  activationEvents: z.array(z.string()),
  engines: z.object({ vscode: z.string() }),
  devDependencies: z.record(z.string(), z.string()),
  contributes: z.looseObject({
    commands: z.array(z.looseObject({ command: z.string(), title: z.string() })),
    menus: z.record(z.string(), z.array(z.looseObject({ command: z.string(), when: z.string() }))),
    keybindings: z.array(
      z.looseObject({ command: z.string(), key: z.string(), mac: z.string(), when: z.string() }),
    ),
    viewsWelcome: z.array(z.looseObject({ contents: z.string() })),
    colors: z.array(z.looseObject({ id: z.string() })),
    configuration: z.looseObject({
      properties: z.record(z.string(), z.looseObject({ markdownDescription: z.string(), scope: z.string() })),
    }),
    walkthroughs: z.array(
      z.looseObject({
        steps: z.array(z.looseObject({ media: z.strictObject({ image: Pictures, altText: z.string() }) })),
      }),
    ),
  }),
});
const manifest = Manifest.parse(JSON.parse(text));
const { contributes } = manifest;
const texts = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.nls.json'), 'utf8')));
/** All that runs in the extension host, as text. */
const code = globSync('extension/**/*.ts', { cwd: ROOT })
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n');
const handled = Object.keys(COMMANDS);
/** Where Ctrl+K Shift+N is not VS Code's own New Window. Source: its default keys, 1.139. */
const NOT_IN_WINDOWS_BROWSER = 'isMac && !terminalFocus || isLinux || isWindows && !isWeb';
const declared = contributes.commands.map(({ command }) => command);
/** A name where a command is run, or chosen to be run: not of a setting, a context, a mark. */
const RUN = /(?:executeCommand\(\s*|\bact(?:On)?\(|[?:] )'(fairlead\.\w+)'/g;

describe('the manifest', () => {
  it('lets no repository say which program runs the sidecar', () => {
    expect(contributes.configuration.properties['fairlead.nodePath']?.scope).toBe('machine');
  });

  it('declares exactly the commands of the table', () => {
    expect(handled.length).toBeGreaterThan(10);
    expect([...handled].sort()).toEqual([...declared].sort());
  });

  it('names only declared commands in menus, keys, welcomes and walkthroughs', () => {
    const named = [...Object.values(contributes.menus).flat(), ...contributes.keybindings].map(
      ({ command }) => command,
    );
    const linked = Object.values(texts).flatMap((each) =>
      [...each.matchAll(/\(command:(fairlead\.\w+)/g)].map((found) => found[1] ?? ''),
    );
    expect([...named, ...linked].filter((command) => !declared.includes(command))).toEqual([]);
  });

  it('declares every command that the code links to or runs', () => {
    const linked = [...code.matchAll(/command:(fairlead\.\w+)/g)].map((found) => found[1] ?? '');
    expect(linked).toContain('fairlead.doctor');
    const run = [...code.matchAll(RUN)]
      .map((found) => found[1] ?? '')
      .filter((name) => !name.endsWith('Foreground'));
    // Of a button, of a row, of a notification.
    expect(run).toEqual(
      expect.arrayContaining(['fairlead.openChanges', 'fairlead.openTerminal', 'fairlead.sendPrompt']),
    );
    expect([...linked, ...run].filter((command) => !declared.includes(command))).toEqual([]);
  });

  it('lets the tooltip of the status bar link to no command that VS Code would not run', () => {
    const status = readFileSync(join(ROOT, 'extension/fleet/fleet-status.ts'), 'utf8');
    const enabled = /enabledCommands: \[([^\]]*)\]/.exec(status)?.[1] ?? '';
    const linked = [...status.matchAll(/\(command:(fairlead\.\w+)\)/g)].map((found) => found[1] ?? '');
    expect(linked.length).toBeGreaterThan(3);
    expect(linked.filter((command) => !enabled.includes(`'${command}'`))).toEqual([]);
  });

  it('has every text, and no text that nothing shows', () => {
    const used = [...text.matchAll(/"%([\w.-]+)%"/g)].map((found) => found[1] ?? '');
    expect(used.filter((key) => !(key in texts))).toEqual([]);
    expect(Object.keys(texts).filter((key) => !used.includes(key))).toEqual([]);
  });

  it('takes no key that an editor or a keyboard has for something else: its own are chords', () => {
    for (const { key, mac, when } of contributes.keybindings) {
      expect([key, mac]).toEqual([
        expect.stringMatching(/^ctrl\+k \S+$/),
        expect.stringMatching(/^cmd\+k \S+$/),
      ]);
      // In a terminal as well: VS Code takes the first key of its own chords there. On macOS that clears the terminal.
      expect(['!isMac || !terminalFocus', NOT_IN_WINDOWS_BROWSER]).toContain(when);
    }
  });

  it('leaves a browser on Windows the key with which VS Code opens a window there', () => {
    const [own] = contributes.keybindings.filter(({ key }) => key === 'ctrl+k shift+n');
    expect(own?.when).toBe(NOT_IN_WINDOWS_BROWSER);
  });

  it('shows pictures that are there, those of a light theme in light ones, and has no others', () => {
    const steps = contributes.walkthroughs.flatMap((each) => each.steps.map(({ media }) => media.image));
    const pictures = new Set(steps.flatMap((image) => Object.values(image)));
    const there = readdirSync(join(ROOT, 'media/walkthrough')).map((name) => `media/walkthrough/${name}`);
    expect([...pictures].sort()).toEqual(there.sort());
    expect(steps.flatMap(({ dark, hc }) => [dark, hc]).filter((each) => !each.endsWith('-dark.png'))).toEqual(
      [],
    );
    expect(
      steps.flatMap(({ light, hcLight }) => [light, hcLight]).filter((each) => !each.endsWith('-light.png')),
    ).toEqual([]);
  });

  it('is checked against the API of the oldest editor that it runs in', () => {
    expect(manifest.devDependencies['@types/vscode']).toBe(manifest.engines.vscode.replace('^', ''));
  });

  it('has every setting and colour that the code reads', () => {
    const settings = [...code.matchAll(/\bsetting\('(\w+)'\)/g)].map((found) => `fairlead.${found[1]}`);
    const declared = Object.entries(contributes.configuration.properties);
    expect(new Set(settings)).toEqual(new Set(declared.map(([name]) => name)));
    expect(Object.fromEntries(declared.map(([name, { default: value }]) => [name, value]))).toEqual(
      Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [`fairlead.${name}`, value])),
    );
    const colors = [...code.matchAll(/'(fairlead\.\w+Foreground)'/g)].map((found) => found[1]);
    expect(new Set(colors)).toEqual(new Set(contributes.colors.map(({ id }) => id)));
  });
});
