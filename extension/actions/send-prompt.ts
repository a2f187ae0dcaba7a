import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { withProgress } from '../connection/progress.ts';
import { hasAgent } from '../fleet/session-abilities.ts';
import { nameOf, shortNameOf } from '../fleet/session-name.ts';
import { showInformation } from '../window/messages.ts';
import { askForDraft } from './prompts/draft-box.ts';
import type { Prompts } from './prompts/prompts.ts';

export interface PromptParts {
  connection: Pick<Connection, 'requestOnce'>;
  prompts: Prompts;
}

/** Asks for the next prompt of a session and sends it. */
export async function sendPrompt(context: PromptParts, session: Session): Promise<void> {
  const { followUps, editors } = context.prompts;
  const writing = followUps.write(session.id, { text: '' });
  const { draft } = writing;
  const goOnInEditor = async () => void (await editors.open(`Prompt for ${session.id}`, draft.text));
  const words = {
    title: `Send Prompt: ${nameOf(session)}`,
    prompt: hasAgent(session)
      ? 'What the agent shall do next'
      : 'The agent is started again with this prompt',
    missing: 'Say what the agent shall do.',
  };
  const end = await askForDraft(words, writing, { hasEditor: true });
  if (end.kind === 'accepted') {
    await followUps.send(session.id, draft, {
      send: () => deliver(context, session, end.text),
      rescue: goOnInEditor,
    });
  } else if (end.kind === 'editor') {
    await goOnInEditor();
    followUps.take(session.id, draft);
  } else followUps.leave(session.id, draft);
}

/** Sends a prompt, which waits where a turn runs. */
export async function deliver(
  { connection }: Pick<PromptParts, 'connection'>,
  session: Session,
  text: string,
): Promise<void> {
  const { confirmed } = await withProgress('Sending the prompt', (options) =>
    connection.requestOnce('SendPrompt', { session: session.id, text }, options),
  );
  if (!confirmed) {
    void showInformation(`The prompt waits until the turn ends: "${shortNameOf(session)}".`);
  }
}
