import * as vscode from 'vscode';
import type { Session, Turn } from '../../sidecar/protocol/session.ts';
import { age, dollars } from '../../sidecar/protocol/wording.ts';
import type { Context } from '../context.ts';
import { inform } from '../messages.ts';

/** Opens what was said in a session so far, turn by turn. */
export async function showConversation(context: Context, session: Session): Promise<void> {
  const turns = await context.connection.request('Turns', { session: session.id });
  if (turns.length === 0) {
    await inform(`${session.title} has had no turn yet.`);
    return;
  }
  const uri = context.documents.put(
    session.id,
    `${fileName(session.title)}.md`,
    conversation(session, turns),
  );
  await vscode.commands.executeCommand('markdown.showPreview', uri);
}

function conversation(session: Session, turns: readonly Turn[]): string {
  const parts = turns.map((turn) => {
    const took = age(turn.startedAt, turn.endedAt ?? Date.now());
    const cost = `${dollars(turn.costUsd)}${turn.unpriced > 0 ? ' and unpriced requests' : ''}`;
    const prompt = turn.prompt
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n');
    return `## Turn ${turn.n}\n\n*${turn.outcome}, ${took}, ${cost}*\n\n${prompt}\n\n${turn.answer ?? ''}`;
  });
  return `# ${session.title}\n\n${parts.join('\n\n---\n\n')}\n`;
}

function fileName(title: string): string {
  return title.replaceAll(/[\\/:*?"<>|#\u0000-\u001f]/g, ' ').trim() || 'Conversation';
}
