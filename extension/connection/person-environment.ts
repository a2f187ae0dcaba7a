/** Variables of the editor that no agent may inherit are taken out by the sidecar as well; here they would only travel. */
const EDITOR = /^(VSCODE_|ELECTRON_|NODE_OPTIONS$)/;

/** What the sidecar is to know of `environment`, in which sessions of this window run. */
export function personEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !EDITOR.test(name)) kept[name] = value;
  }
  return kept;
}
