import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { COMMANDS } from '../../../extension/commands.ts';
import { eventually, hostTest } from './cases.ts';
import { fairlead } from './fairlead.ts';
import { logged, type Scene } from './scene.ts';

interface Contributions {
  commands: { command: string }[];
  menus: Record<string, { command: string }[]>;
}

/** Given the name of one that there is not, none of them asks anything first. */
const OF_A_SESSION = Object.entries(COMMANDS).flatMap(([id, { kind }]) => (kind === 'session' ? [id] : []));

export function commandTests(scene: Scene): void {
  hostTest('every declared command is registered, and no other', async () => {
    await fairlead().activate();
    const { commands }: Contributions = fairlead().packageJSON.contributes;
    const registered = (await vscode.commands.getCommands(true)).filter((id) => id.startsWith('fairlead.'));
    // The workbench makes those of the view.
    const own = registered.filter((id) => !id.startsWith('fairlead.fleet.'));
    assert.deepEqual(own.sort(), commands.map(({ command }) => command).sort());
  });

  hostTest('every menu names commands that are registered', async () => {
    const { menus }: Contributions = fairlead().packageJSON.contributes;
    const registered = await vscode.commands.getCommands(true);
    const named = Object.values(menus).flat();
    assert.notEqual(named.length, 0);
    assert.deepEqual(
      named.filter(({ command }) => !registered.includes(command)),
      [],
    );
  });

  hostTest('a command for a session that there is not says so and throws nothing', async () => {
    assert.notEqual(OF_A_SESSION.length, 0);
    for (const id of OF_A_SESSION) {
      const before = logged(scene);
      await vscode.commands.executeCommand(id, 'no-such-session');
      const news = await eventually(`${id} says what is wrong`, () => {
        const text = logged(scene).slice(before.length);
        return text.includes('[error]') ? text : undefined;
      });
      assert.match(news, /\[error\] session\.missing: .*no-such-session/, id);
    }
    assert.equal(vscode.window.terminals.length, 0);
  });

  hostTest('what is no session at all counts as none, and the person is asked', async () => {
    for (const argument of [42, null, {}, { kind: 'session' }, { kind: 'session', id: 7 }, ['x']]) {
      await vscode.env.clipboard.writeText('untouched');
      // The only session there is needs no question.
      await vscode.commands.executeCommand('fairlead.copyBranch', argument);
      assert.match(await vscode.env.clipboard.readText(), /^fairlead\//, JSON.stringify(argument));
    }
  });

  hostTest('a command takes the id of a session, and a row of the fleet', async () => {
    const { session } = scene;
    for (const argument of [session.id, { kind: 'session', id: session.id }]) {
      await vscode.env.clipboard.writeText('untouched');
      await vscode.commands.executeCommand('fairlead.copyWorktree', argument);
      assert.equal(await vscode.env.clipboard.readText(), session.worktree);
    }
  });
}
