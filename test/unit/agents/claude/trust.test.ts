import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isTrusted } from '../../../../sidecar/agents/claude/trust.ts';

let root: string;
let config: string;
let checkout: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-trust-')));
  config = join(root, 'config');
  checkout = join(root, 'checkout');
  mkdirSync(config);
  mkdirSync(checkout);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const trusting = (...paths: string[]) =>
  JSON.stringify({
    projects: Object.fromEntries(paths.map((path) => [path, { hasTrustDialogAccepted: true }])),
  });

describe('trust in a checkout', () => {
  test('is what the CLI has written down for its real path', () => {
    writeFileSync(join(config, '.claude.json'), trusting(checkout));
    symlinkSync(checkout, join(root, 'link'));
    expect(isTrusted(config, checkout)).toBe(true);
    expect(isTrusted(config, join(root, 'link'))).toBe(true);
  });

  test('is not that in a folder above it, nor that in a link to it', () => {
    symlinkSync(checkout, join(root, 'link'));
    writeFileSync(join(config, '.claude.json'), trusting(root, join(root, 'link')));
    expect(isTrusted(config, checkout)).toBe(false);
  });

  test('is found beside the default folder, where the CLI keeps it without CLAUDE_CONFIG_DIR', () => {
    writeFileSync(join(root, '.claude.json'), trusting(checkout));
    expect(isTrusted(join(root, '.claude'), checkout)).toBe(true);
    expect(isTrusted(config, checkout)).toBe(false);
  });

  test.each([['{"projects":{"'], ['[]'], ['{"projects":[]}'], ['{}'], ['null']])('is none in %s', (text) => {
    writeFileSync(join(config, '.claude.json'), text);
    expect(isTrusted(config, checkout)).toBe(false);
  });

  test('is none without a file', () => {
    expect(isTrusted(config, checkout)).toBe(false);
  });
});
