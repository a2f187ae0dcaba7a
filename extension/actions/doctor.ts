import * as vscode from 'vscode';
import type { Finding } from '../../sidecar/protocol/protocol.ts';
import type { Connection } from '../connection/connection.ts';
import { failureOf, isCancelled } from '../connection/failure.ts';
import { withProgress } from '../connection/progress.ts';
import { pickText } from '../window/pick-text.ts';

/** How long it is said that something was copied, in milliseconds. */
const COPIED_MS = 5_000;

const ICON: Record<Finding['state'], string> = { ok: 'pass', warning: 'warning', problem: 'error' };

/** Shows what Fairlead needs and whether it is there, each with what to do. */
export async function doctor({ connection }: { connection: Pick<Connection, 'request'> }): Promise<void> {
  const findings = await withProgress(
    'Looking at what Fairlead needs',
    () => connection.request('Doctor', { folder: folderInHand() ?? null }),
    'ends-waiting',
  ).catch((error: unknown): Finding[] => {
    if (isCancelled(error)) throw error;
    const { message, hint } = failureOf(error);
    return [{ check: 'sidecar', state: 'problem', found: message, hint: hint ?? null }];
  });
  const order: Finding['state'][] = ['problem', 'warning', 'ok'];
  const sorted = findings.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const chosen = await vscode.window.showQuickPick(
    sorted.map(({ check, state, found, hint }) => ({
      label: `$(${ICON[state]}) ${check}`,
      description: pickText(found),
      ...(hint === null ? {} : { detail: pickText(hint) }),
      hint,
    })),
    {
      title: 'Fairlead Doctor',
      placeHolder: summary(findings),
      matchOnDescription: true,
      matchOnDetail: true,
    },
  );
  // Choosing one keeps what to do at hand.
  const hint = chosen?.hint ?? null;
  if (hint === null) return;
  await vscode.env.clipboard.writeText(hint);
  vscode.window.setStatusBarMessage('$(check) What to do was copied', COPIED_MS);
}

/** The folder of the window in which the active editor's file lies, else the first. */
function folderInHand(): string | undefined {
  const active = vscode.window.activeTextEditor?.document.uri;
  const inHand = active && vscode.workspace.getWorkspaceFolder(active);
  const folders = [...(inHand === undefined ? [] : [inHand]), ...(vscode.workspace.workspaceFolders ?? [])];
  return folders.find(({ uri }) => uri.scheme === 'file')?.uri.fsPath;
}

function summary(findings: readonly Finding[]): string {
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  if (problems === 0 && warnings === 0) return 'Everything is there.';
  const parts: string[] = [];
  if (problems > 0) parts.push(`${problems} ${problems === 1 ? 'problem' : 'problems'}`);
  if (warnings > 0) parts.push(`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`);
  return `${parts.join(', ')}. Choosing one copies what to do.`;
}
