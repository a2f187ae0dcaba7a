/** See vsce.mjs. */
export function vsce(options: {
  node: string;
  stage: string;
  file: string;
  target: string;
  flags: readonly string[];
}): void;
