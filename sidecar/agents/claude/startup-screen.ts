import type { Reason } from '../../protocol/reason.ts';

/**
 * Dialogs that the CLI shows before it says anything by hook, status or registry, by what stands on the screen.
 * Seen with 2.1.332; the trust dialog also reports itself through the terminal's status.
 */
const DIALOGS: { shows: RegExp; reason: Reason }[] = [
  {
    shows: /Quick safety check|Do you trust the files in this folder/i,
    reason: {
      kind: 'trust',
      message: 'Claude Code asks whether you trust this folder.',
      options: ['allow', 'deny'],
    },
  },
  {
    shows: /Detected a custom API key|Do you want to use this API key/i,
    reason: { kind: 'login', message: 'Claude Code asks whether to use the API key of the environment.' },
  },
  {
    shows: /Select login method|Paste code here if prompted|Unable to connect to Anthropic services/i,
    reason: { kind: 'login', message: 'Claude Code is not signed in.' },
  },
  {
    shows: /Choose the text style|Let's get started/i,
    reason: { kind: 'login', message: 'Claude Code was never set up here: it shows its first-run screens.' },
  },
  {
    shows: /Bypass Permissions mode[\s\S]*Yes, I accept/i,
    reason: { kind: 'permission', message: 'Claude Code asks to accept the mode that bypasses permissions.' },
  },
  {
    shows: /Resume from summary|Resume full session|Resume session/i,
    reason: { kind: 'question', message: 'Claude Code asks how to resume the conversation.' },
  },
];

/** What the person is asked before the start, undefined when the screen shows no dialog that is known. */
export function startupReason(screen: readonly string[]): Reason | undefined {
  const text = screen.join('\n');
  return DIALOGS.find(({ shows }) => shows.test(text))?.reason;
}
