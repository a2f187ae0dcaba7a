import * as vscode from 'vscode';
import type { Finding } from '../../sidecar/protocol/protocol.ts';
import type { Connection } from '../connection/connection.ts';
import { failureOf } from '../connection/failure.ts';
import { pickText } from '../window/pick-text.ts';

const ICON: Record<Finding['state'], string> = { ok: 'pass', warning: 'warning', problem: 'error' };

/** Shows what Fairlead needs and whether it is there, each with what to do. */
export async function doctor({ connection }: { connection: Pick<Connection, 'request'> }): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri.fsPath;
  const findings = await connection
    .request('Doctor', { folder: folder ?? null })
    .catch((error: unknown): Finding[] => {
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
  if (hint !== null) await vscode.env.clipboard.writeText(hint);
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
