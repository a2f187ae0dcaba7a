import type { AgentDefinition } from '../agent.ts';

/** Claude Code. Source of the options: `claude --help` of 2.1.332. */
export const CLAUDE_CODE: AgentDefinition = {
  id: 'claude',
  name: 'Claude Code',
  command: 'claude',
  start: [
    ['--session-id', '{session}'],
    ['--settings', '{settings}'],
    ['--permission-mode', '{mode}'],
    ['--model', '{model}'],
    ['--', '{prompt}'],
  ],
  resume: [
    ['--resume', '{session}'],
    ['--settings', '{settings}'],
    ['--permission-mode', '{mode}'],
    ['--model', '{model}'],
    ['--', '{prompt}'],
  ],
  promptArgument: true,
  signals: ['hooks', 'program-status', 'registry', 'transcript', 'title'],
  environment: {
    // A `claude` that was started by another one writes no transcript unless told to.
    CLAUDE_CODE_FORCE_SESSION_PERSISTENCE: '1',
  },
};
