declare const __FAIRLEAD_VERSION__: string | undefined;
declare const __FAIRLEAD_BUILD__: string | undefined;
declare const __FAIRLEAD_SOURCES_AT__: number | undefined;

/** Version of the package, a hash of the sources it was built from, and when the newest of them was written. */
export const BUILD = {
  version: typeof __FAIRLEAD_VERSION__ === 'string' ? __FAIRLEAD_VERSION__ : '0.0.0',
  id: typeof __FAIRLEAD_BUILD__ === 'string' ? __FAIRLEAD_BUILD__ : 'source',
  /** Milliseconds since the epoch. */
  sourcesAt: typeof __FAIRLEAD_SOURCES_AT__ === 'number' ? __FAIRLEAD_SOURCES_AT__ : 0,
} as const;

/** Whether `other` is to give way to this build: an older version, or older sources of the same one. */
export function isOlderBuild(other: { version: string; build: string; sourcesAt: number }): boolean {
  const order = compareVersions(other.version, BUILD.version);
  if (order !== 0) return order < 0;
  return other.build !== BUILD.id && other.sourcesAt < BUILD.sourcesAt;
}

/** Negative when version `a` is older than `b`. Numeric parts only; a pre-release counts as its release. */
export function compareVersions(a: string, b: string): number {
  const parts = (version: string) => version.split(/[.+-]/).slice(0, 3).map(Number);
  const [left, right] = [parts(a), parts(b)];
  for (let index = 0; index < 3; index += 1) {
    const difference = (left[index] || 0) - (right[index] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
