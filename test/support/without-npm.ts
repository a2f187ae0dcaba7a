/** `environment` without what an npm leaves to the scripts that it runs: another would take that for its own. */
export function withoutNpm(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !/^npm_/i.test(name)) kept[name] = value;
  }
  return kept;
}
