import * as vscode from 'vscode';
import { conversationOf } from './actions/conversation.ts';
import { Prompts } from './actions/prompts/prompts.ts';
import { TextDocuments } from './actions/text-documents.ts';
import { Connection } from './connection/connection.ts';
import { failureOf } from './connection/failure.ts';
import { presentFailure } from './connection/present-failure.ts';
import { Fleet } from './fleet/fleet.ts';
import { Landings } from './fleet/landings.ts';
import { LastUsed } from './fleet/last-used.ts';
import { NeedsInHand } from './fleet/needs-in-hand.ts';
import { Repositories } from './fleet/repositories.ts';
import { Contents } from './lanes/contents.ts';
import { SessionChanges } from './lanes/session-changes.ts';
import { SessionLinks } from './terminals/session-links.ts';
import { SessionTerminals } from './terminals/session-terminals.ts';

/** What every part of the extension works with, for as long as the window lives. */
export class Context implements vscode.Disposable {
  readonly extension: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  readonly connection: Connection;
  readonly fleet: Fleet;
  readonly lastUsed = new LastUsed();
  readonly landings = new Landings();
  readonly needsInHand = new NeedsInHand();
  readonly prompts: Prompts;
  readonly repositories: Repositories;
  readonly terminals: SessionTerminals;
  readonly links: SessionLinks;
  readonly contents: Contents;
  readonly changes: SessionChanges;
  readonly documents: TextDocuments;

  constructor(extension: vscode.ExtensionContext) {
    this.extension = extension;
    this.prompts = new Prompts(extension.globalStorageUri, extension.workspaceState);
    this.output = vscode.window.createOutputChannel('Fairlead', { log: true });
    this.connection = new Connection(extension, this.output);
    this.fleet = new Fleet(this.connection, (error) => {
      this.output.warn(`The sessions could not be read: ${failureOf(error).message}`);
      this.connection.giveUp(error);
    });
    this.repositories = new Repositories(this.connection, extension.workspaceState);
    this.terminals = new SessionTerminals(
      this.connection,
      this.fleet,
      this.lastUsed,
      extension.workspaceState,
    );
    this.links = new SessionLinks(
      (terminal) => {
        const session = this.terminals.sessionOf(terminal);
        return session === undefined ? undefined : this.fleet.get(session);
      },
      (error) => presentFailure(this.output, error),
    );
    this.contents = new Contents(this.connection);
    this.changes = new SessionChanges(this.connection);
    this.documents = new TextDocuments({ conversation: (id) => conversationOf(this.connection, id) });
  }

  dispose(): void {
    this.documents.dispose();
    this.contents.dispose();
    this.links.dispose();
    this.terminals.dispose();
    this.repositories.dispose();
    this.fleet.dispose();
    this.connection.dispose();
    this.output.dispose();
  }
}
