import { describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { TextDocuments } from '../../../extension/actions/text-documents.ts';
import { workspace } from '../../support/vscode.ts';

function scene() {
  let close: (document: { uri: vscode.Uri }) => void = () => {};
  workspace.onDidCloseTextDocument = (listener: typeof close) => {
    close = listener;
  };
  let said = 'Hello';
  const make = () =>
    new TextDocuments({
      conversation: async (session) => {
        if (session === 'gone') throw new Error('There is no session gone.');
        return `${session}: ${said}`;
      },
    });
  return {
    make,
    documents: make(),
    close: (uri: vscode.Uri) => close({ uri }),
    say: (text: string) => {
      said = text;
    },
  };
}

describe('texts that are shown', () => {
  it('are what was put in, and say so when they are lost', async () => {
    const { documents, close } = scene();
    const uri = documents.put('one', 'Bash.sh', 'ls\n');
    expect(await documents.provideTextDocumentContent(uri)).toBe('ls\n');
    close(uri);
    expect(await documents.provideTextDocumentContent(uri)).toMatch(/no longer.*Answer the session/);
  });

  it('may be called by what is no text', async () => {
    const { documents } = scene();
    const uri = documents.put('one', 'before/caf\ud83d.txt', 'Espresso\n');
    expect(() => uri.toString()).not.toThrow();
    expect(await documents.provideTextDocumentContent(uri)).toBe('Espresso\n');
  });

  it('are made again after a reload, when nothing keeps them open, and when they are shown once more', async () => {
    const { make, documents, close, say } = scene();
    const uri = documents.made('conversation', 'one', 'Title.md');
    close(uri);
    expect(await documents.provideTextDocumentContent(uri)).toBe('one: Hello');
    const after = make();
    expect(await after.provideTextDocumentContent(uri)).toBe('one: Hello');
    const changed: string[] = [];
    after.onDidChange((each) => changed.push(each.toString()));
    say('More');
    after.made('conversation', 'one', 'Title.md');
    expect(changed).toEqual([uri.toString()]);
    expect(await after.provideTextDocumentContent(uri)).toBe('one: More');
  });

  it('say why they cannot be made', async () => {
    const { documents } = scene();
    const uri = documents.made('conversation', 'gone', 'Title.md');
    expect(await documents.provideTextDocumentContent(uri)).toBe('There is no session gone.');
  });
});
