import type { PermissionMode } from './session.ts';

/** Permission modes with what they mean, as clients offer them. Source: `claude --help`, `--permission-mode`. */
export const PERMISSION_MODES: readonly { mode: PermissionMode; meaning: string }[] = [
  { mode: 'manual', meaning: 'asks before every tool that changes something' },
  { mode: 'acceptEdits', meaning: 'edits files without asking' },
  { mode: 'plan', meaning: 'makes a plan and changes nothing' },
  { mode: 'auto', meaning: 'decides by itself what is safe' },
  { mode: 'dontAsk', meaning: 'denies what is not allowed already' },
  { mode: 'bypassPermissions', meaning: 'allows everything: only in a container' },
];
