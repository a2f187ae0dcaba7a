import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '../../sidecar/platform/environment.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const BIN = join(ROOT, 'node_modules', '.bin');

/** The real CLI, in the version that package.json pins. */
export const CLAUDE = join(BIN, 'claude');

/** Looks like a key of the API and opens nothing. */
export const SCRIPTED_KEY = 'sk-ant-api03-scripted-0123456789abcdefghij';

export interface ClaudeHomeOptions {
  /** Folder that becomes HOME; made when missing. */
  home: string;
  /** URL of the scripted model. */
  modelUrl: string;
  /** Absolute paths of main checkouts whose trust question has been answered. */
  trusted?: readonly string[];
  /** False: the first-run screens (theme, login) come. Default true. */
  onboarded?: boolean;
  /** False: the CLI asks whether to use the key of the environment. Default true. */
  keyApproved?: boolean;
  /** False: no key at all, so that the CLI shows its login screen. Default true. */
  key?: boolean;
}

export interface ClaudeHome {
  home: string;
  configDir: string;
  /** The whole environment in which the real CLI talks to the scripted model and to nothing else. */
  env: Record<string, string>;
  /** Sets the theme in which agents that are started from now on draw their terminals. */
  paint(theme: 'dark' | 'light'): void;
  /** Records the trust answer for one more main checkout, as the CLI would. */
  trust(checkout: string): void;
}

/** A HOME with a Claude Code configuration of its own; the person's real one is never read. */
export function prepareClaude(options: ClaudeHomeOptions): ClaudeHome {
  const configDir = join(options.home, '.claude');
  mkdirSync(configDir, { recursive: true });
  const file = join(configDir, '.claude.json');
  const config: { projects: Record<string, unknown> } & Record<string, unknown> = {
    ...(options.onboarded === false ? {} : { hasCompletedOnboarding: true, theme: 'dark' }),
    ...(options.keyApproved === false
      ? {}
      : { customApiKeyResponses: { approved: [SCRIPTED_KEY.slice(-20)], rejected: [] } }),
    projects: Object.fromEntries(
      (options.trusted ?? []).map((path) => [path, { hasTrustDialogAccepted: true }]),
    ),
  };
  writeFileSync(file, JSON.stringify(config));
  const change = (edit: (current: typeof config) => typeof config) =>
    writeFileSync(file, JSON.stringify(edit(JSON.parse(readFileSync(file, 'utf8')))));
  return {
    home: options.home,
    configDir,
    env: {
      ...cleanEnvironment(process.env),
      HOME: options.home,
      PATH: `${BIN}:${process.env.PATH ?? '/usr/bin:/bin'}`,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      CLAUDE_CONFIG_DIR: configDir,
      ANTHROPIC_BASE_URL: options.modelUrl,
      ...(options.key === false ? {} : { ANTHROPIC_API_KEY: SCRIPTED_KEY }),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_FORCE_SESSION_PERSISTENCE: '1',
      DISABLE_AUTOUPDATER: '1',
      // The CLI refuses some modes for root unless it is told that this is a sandbox.
      IS_SANDBOX: '1',
    },
    paint: (theme) => change((current) => ({ ...current, theme })),
    trust: (checkout) =>
      change((current) => ({
        ...current,
        projects: { ...current.projects, [checkout]: { hasTrustDialogAccepted: true } },
      })),
  };
}
