import { expect, it } from 'vitest';
import { showSidecarLog } from '../../../extension/actions/sidecar-log.ts';
import { window, workspace } from '../../support/vscode.ts';

it('the log of the sidecar is opened at its end, wherever its home is', async () => {
  const opened: unknown[] = [];
  workspace.openTextDocument = async (path: string) => {
    opened.push(path);
    return { lineCount: 3, lineAt: (line: number) => ({ range: `line ${line}` }) };
  };
  window.showTextDocument = async () => ({ revealRange: (range: string) => opened.push(range) });
  const request = async (): Promise<never> => ({ home: '/home/me/fair' }) as never;
  await showSidecarLog({ connection: { request } });
  expect(opened).toEqual(['/home/me/fair/logs/sidecar.log', 'line 2']);
});
