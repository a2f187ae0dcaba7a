import * as vscode from 'vscode';
import type { Session, Turn } from '../../sidecar/protocol/session.ts';
import { age, dollars } from '../../sidecar/protocol/wording.ts';
import type { Connection } from '../connection/connection.ts';
import { withProgress } from '../connection/progress.ts';
import { nameOf, shortNameOf } from '../fleet/session-name.ts';
import { markdownText } from '../window/markdown-text.ts';
import { showInformation } from '../window/messages.ts';
import { formattedText, unformatted } from './formatted-text.ts';
import type { TextDocuments } from './text-documents.ts';

/** Opens what was said in a session so far, turn by turn. */
export async function showConversation(
  { documents }: { documents: TextDocuments },
  session: Session,
): Promise<void> {
  if (session.turns === 0) {
    await showInformation(`There was no turn yet: "${shortNameOf(session)}".`);
    return;
  }
  const uri = documents.made('conversation', session.id, `${fileName(nameOf(session))}.md`);
  // The preview would show nothing until it is there.
  await withProgress(
    'Reading the conversation',
    async () => vscode.workspace.openTextDocument(uri),
    'ends-waiting',
  );
  await vscode.commands.executeCommand('markdown.showPreview', uri);
}

/** What was said in a session so far, as Markdown of which nothing is fetched. @throws ExtensionError as the sidecar answers */
export async function conversationOf(connection: Pick<Connection, 'request'>, id: string): Promise<string> {
  const [session, turns] = await Promise.all([
    connection.request('ShowSession', { session: id }),
    connection.request('Turns', { session: id }),
  ]);
  return conversation(session, turns);
}

function conversation(session: Session, turns: readonly Turn[]): string {
  const parts = turns.map((turn) => {
    const took = age(turn.startedAt, turn.endedAt ?? Date.now());
    const cost = `${dollars(turn.costUsd)}${turn.unpriced > 0 ? ' and unpriced requests' : ''}`;
    const prompt = turn.prompt
      .split(/\r\n|\r|\n/)
      .map((line) => `> ${unformatted(line)}`)
      .join('\n');
    const answer = formattedText(turn.answer ?? '');
    return `## Turn ${turn.n}\n\n*${turn.outcome}, ${took}, ${cost}*\n\n${prompt}\n\n${answer}`;
  });
  return `# ${markdownText(nameOf(session))}\n\n${parts.join('\n\n---\n\n')}\n`;
}

function fileName(title: string): string {
  return title.replaceAll(/[\\/:*?"<>|#\u0000-\u001f]/g, ' ').trim() || 'Conversation';
}
