import type { Command } from 'commander';
import type { CommandContext } from './context.ts';

/**
 * Turns a command into an action of the program: gives it a context, closes what it opened, reports what it threw.
 */
export type Act = <Args extends unknown[]>(
  run: (context: CommandContext, ...args: Args) => Promise<void>,
) => (this: Command, ...args: Args) => Promise<void>;
