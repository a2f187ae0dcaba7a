/**
 * `text` for a line that is picked from, where `$(name)` would be drawn as an icon: agents, repositories and remotes
 * write much of what stands there.
 */
export function pickText(text: string): string {
  return text.replaceAll(/\$\((?=[a-zA-Z0-9-]+(~[a-zA-Z]+)?\))/g, '\\$(');
}
