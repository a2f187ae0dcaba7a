import * as vscode from 'vscode';
import type { ConnectionState } from '../../../../extension/connection/connection.ts';
import { Fleet } from '../../../../extension/fleet/fleet.ts';
import type { Session } from '../../../../sidecar/protocol/session.ts';

/** A fleet that knows `sessions`, and what the sidecar would tell of one from then on. */
export function fleetOf(sessions: readonly Session[]): { fleet: Fleet; tell(session: Session): void } {
  const prefetched = new vscode.EventEmitter<readonly Session[]>();
  const listeners: ((session: Session) => void)[] = [];
  const fleet = new Fleet(
    {
      request: async () => {
        throw new Error('nothing is asked');
      },
      on: (name: string, listener: (news: never) => void) => {
        if (name === 'SessionChanged') listeners.push(listener as (session: Session) => void);
        return new vscode.Disposable(() => {});
      },
      onDidChangeState: new vscode.EventEmitter<ConnectionState>().event,
      onDidPrefetch: prefetched.event,
    },
    () => {},
  );
  prefetched.fire(sessions);
  return {
    fleet,
    tell: (session) => {
      for (const each of listeners) each(session);
    },
  };
}
