import type * as vscode from 'vscode';

/** What VS Code keeps of a workspace, whose window a test reloads by making everything else anew. */
export class Memento implements Pick<vscode.Memento, 'get' | 'update'> {
  readonly #kept = new Map<string, string>();

  get<T>(key: string): T | undefined;
  get<T>(key: string, fallback: T): T;
  get<T>(key: string, fallback?: T): T | undefined {
    const json = this.#kept.get(key);
    return json === undefined ? fallback : JSON.parse(json);
  }

  async update(key: string, value: unknown): Promise<void> {
    this.#kept.set(key, JSON.stringify(value));
  }
}
