import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { eventually, hostTest } from './cases.ts';
import { fairlead } from './fairlead.ts';
import type { Scene } from './scene.ts';

export function contentsTests(scene: Scene): void {
  const { session, work, started } = scene;
  const { fs } = vscode.workspace;

  /** A file of the session, as it is in its worktree or at a commit. */
  const file = (path: string, commit = '', id = session.id) =>
    vscode.Uri.from({ scheme: 'fairlead', authority: id, path: `/${path}`, query: commit });

  hostTest('every file reads as the worktree, and as the commit, has it, byte by byte', async () => {
    await fairlead().activate();
    for (const [files, commit] of [
      [work, ''],
      [started, session.start],
    ] as const) {
      for (const [path, base64] of Object.entries(files)) {
        if (base64 === null) {
          await assert.rejects(async () => fs.readFile(file(path, commit)), isNotFound, `${commit} ${path}`);
          await assert.rejects(async () => fs.stat(file(path, commit)), isNotFound, `${commit} ${path}`);
          continue;
        }
        const content = Buffer.from(await fs.readFile(file(path, commit)));
        assert.equal(content.toString('base64'), base64, `${commit} ${path}`);
        const stat = await fs.stat(file(path, commit));
        assert.equal(stat.size, content.length, path);
        assert.equal(stat.type, vscode.FileType.File);
        assert.equal(stat.permissions, vscode.FilePermission.Readonly);
      }
    }
  });

  hostTest('a commit never changes, so its files have one time', async () => {
    const uri = file('text.txt', session.start);
    assert.equal((await fs.stat(uri)).mtime, (await fs.stat(uri)).mtime);
  });

  hostTest('nothing can be written, made, renamed or deleted', async () => {
    assert.equal(fs.isWritableFileSystem('fairlead'), false);
    const uri = file('text.txt');
    const attempts: Record<string, () => Thenable<void>> = {
      write: () => fs.writeFile(uri, Buffer.from('other')),
      create: () => fs.writeFile(file('another.txt'), Buffer.from('other')),
      folder: () => fs.createDirectory(file('folder')),
      rename: () => fs.rename(uri, file('renamed.txt')),
      delete: () => fs.delete(uri),
      copy: () => fs.copy(uri, file('copy.txt')),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      await assert.rejects(async () => attempt(), /./, name);
    }
    const content = Buffer.from(await fs.readFile(uri)).toString('base64');
    assert.equal(content, work['text.txt']);
  });

  hostTest('what is not there is not found, whatever is missing of it', async () => {
    const zeros = '0'.repeat(40);
    for (const uri of [
      file('nowhere.txt'),
      file('nowhere.txt', session.start),
      file('text.txt', zeros),
      file('folder'),
      file('folder', session.start),
      file('text.txt', '', 'no-such-session'),
    ]) {
      await assert.rejects(async () => fs.stat(uri), isNotFound, String(uri));
      await assert.rejects(async () => fs.readFile(uri), isNotFound, String(uri));
    }
  });

  hostTest('nothing outside the worktree can be read, and no other revision than a commit', async () => {
    for (const uri of [
      file('../text.txt'),
      file('folder/../../../etc/passwd'),
      file('outside/passwd'),
      file('text.txt', 'HEAD'),
      file('text.txt', '--batch'),
    ]) {
      await assert.rejects(async () => fs.readFile(uri), /./, String(uri));
    }
    // Of a link its target is shown, as git has it.
    assert.equal(Buffer.from(await fs.readFile(file('outside'))).toString('utf8'), '/etc');
  });

  hostTest('Open Changes shows both sides of every kind of change', async () => {
    await vscode.commands.executeCommand('fairlead.openChanges', session.id);
    const [tab] = await eventually('the changes are open', () => {
      const tabs = vscode.window.tabGroups.activeTabGroup.tabs;
      return tabs.length > 0 && tabs;
    });
    assert.match(tab?.label ?? '', new RegExp(`^${session.title}`));
    const texts = () =>
      new Map(
        vscode.workspace.textDocuments
          .filter(({ uri }) => uri.scheme === 'fairlead')
          .map((document) => [
            `${document.uri.query === '' ? 'work' : 'start'} ${document.uri.path}`,
            document,
          ]),
      );
    const expected = {
      'start /text.txt': started['text.txt'],
      'work /text.txt': work['text.txt'],
      'start /old name.txt': started['old name.txt'],
      'work /new name.txt': work['new name.txt'],
      'start /gone.txt': started['gone.txt'],
      'work /folder/näher.txt': work['folder/näher.txt'],
      'work /committed.txt': work['committed.txt'],
    };
    for (const [name, base64] of Object.entries(expected)) {
      const document = await eventually(`${name} is shown`, () => texts().get(name));
      assert.equal(Buffer.from(document.getText()).toString('base64'), base64, name);
    }
    for (const name of [
      'work /gone.txt',
      'start /folder/näher.txt',
      'work /old name.txt',
      'start /kept.txt',
    ]) {
      assert.equal(texts().has(name), false, name);
    }
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  hostTest('a file that is shown follows the worktree', async () => {
    const path = 'folder/näher.txt';
    const { document } = await vscode.window.showTextDocument(file(path));
    const onDisk = vscode.Uri.joinPath(vscode.Uri.file(session.worktree), path);
    await fs.writeFile(onDisk, Buffer.from('Changed since.\n'));
    await eventually('the change is shown', () => document.getText() === 'Changed since.\n');
    await fs.writeFile(onDisk, Buffer.from(work[path] ?? '', 'base64'));
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });
}

function isNotFound(error: unknown): boolean {
  return error instanceof vscode.FileSystemError && error.code === 'FileNotFound';
}
