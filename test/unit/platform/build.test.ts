import { describe, expect, it } from 'vitest';
import { BUILD, compareVersions, isOlderBuild } from '../../../sidecar/platform/build.ts';

describe('the order of versions', () => {
  it.each([
    ['0.1.0', '0.1.1'],
    ['0.9.0', '0.10.0'],
    ['0.99.99', '1.0.0'],
    ['1.2', '1.2.1'],
  ])('%s is older than %s', (older, newer) => {
    expect(compareVersions(older, newer)).toBeLessThan(0);
    expect(compareVersions(newer, older)).toBeGreaterThan(0);
  });

  it.each([
    ['1.2.3', '1.2.3'],
    ['1.2.3', '1.2.3-beta.1'],
    ['1.2.0', '1.2'],
    ['1.2.3+build.5', '1.2.3'],
  ])('%s counts as %s', (one, other) => {
    expect(compareVersions(one, other)).toBe(0);
    expect(compareVersions(other, one)).toBe(0);
  });
});

describe('which build gives way', () => {
  const own = { version: BUILD.version, build: BUILD.id, sourcesAt: BUILD.sourcesAt };

  it('is the older version, and of one version the one with older sources', () => {
    expect(isOlderBuild({ ...own, version: '0.0.0-0', build: 'other', sourcesAt: own.sourcesAt - 1 })).toBe(
      true,
    );
    expect(isOlderBuild({ ...own, version: '99.0.0', build: 'other', sourcesAt: own.sourcesAt - 1 })).toBe(
      false,
    );
    expect(isOlderBuild({ ...own, build: 'other', sourcesAt: own.sourcesAt + 1 })).toBe(false);
  });

  it('is never itself', () => {
    expect(isOlderBuild({ ...own, sourcesAt: own.sourcesAt - 1 })).toBe(false);
  });
});
