declare const __FAIRLEAD_VERSION__: string | undefined;
declare const __FAIRLEAD_BUILD__: string | undefined;

/** Version of the package, and a hash of the sources it was built from. Set by the bundler. */
export const BUILD = {
  version: typeof __FAIRLEAD_VERSION__ === 'string' ? __FAIRLEAD_VERSION__ : '0.0.0',
  id: typeof __FAIRLEAD_BUILD__ === 'string' ? __FAIRLEAD_BUILD__ : 'source',
} as const;

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
