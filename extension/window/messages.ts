import * as vscode from 'vscode';

/**
 * What a message says, as text. VS Code makes `[words](command:…)` in a message a link that runs the command, and much
 * of what is told here comes from agents, repositories and remotes.
 */
export function asText(text: string): string {
  return text.replaceAll('](', '] (');
}

/** Resolves with the action that was pressed; undefined when the message was closed. */
export function showInformation(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showInformationMessage(asText(text), ...actions);
}

/** As {@link showInformation}, as a warning. */
export function showWarning(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(asText(text), ...actions);
}

/** As {@link showInformation}, as an error. */
export function showError(text: string, ...actions: string[]): Thenable<string | undefined> {
  return vscode.window.showErrorMessage(asText(text), ...actions);
}

/** Asks for a text; undefined when the person left it, or `token` was cancelled. */
export function askText(
  options: vscode.InputBoxOptions,
  token?: vscode.CancellationToken,
): Thenable<string | undefined> {
  const { prompt } = options;
  return vscode.window.showInputBox(
    { ...options, ...(prompt === undefined ? {} : { prompt: asText(prompt) }) },
    token,
  );
}

/** Asks before something is done; true when it is to be done. */
export async function confirm(
  question: string,
  detail: string | undefined,
  action: string,
): Promise<boolean> {
  const options = { modal: true, ...(detail === undefined ? {} : { detail: asText(detail) }) };
  return (await vscode.window.showInformationMessage(asText(question), options, action)) !== undefined;
}

/** A notification with what is being done, until `run` has ended; with Cancel, which `run` then honours, if `cancellable`. */
export function showProgress<T>(
  title: string,
  run: (report: (message: string, increment?: number) => void, token: vscode.CancellationToken) => Promise<T>,
  cancellable = true,
): Thenable<T> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: asText(title), cancellable },
    (progress, token) =>
      run(
        (message, increment) =>
          progress.report({
            message: asText(message),
            ...(increment === undefined ? {} : { increment }),
          }),
        token,
      ),
  );
}
