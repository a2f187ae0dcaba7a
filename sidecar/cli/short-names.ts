/**
 * The shortest ends of absolute paths that tell them apart, by path: `app`, or `work/app` and `play/app`. Pure.
 */
export function shortNames(paths: Iterable<string>): Map<string, string> {
  const all = [...new Set(paths)];
  return new Map(all.map((path) => [path, shortName(path, all)]));
}

function shortName(path: string, all: readonly string[]): string {
  const parts = partsOf(path);
  for (let count = 1; count < parts.length; count += 1) {
    const name = parts.slice(-count).join('/');
    if (all.every((other) => other === path || partsOf(other).slice(-count).join('/') !== name)) return name;
  }
  return path;
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}
