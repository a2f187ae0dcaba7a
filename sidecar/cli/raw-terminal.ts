import type { ReadStream, WriteStream } from 'node:tty';

/** Ends every mode that a program may have set: alternate screen, mouse, bracketed paste, keypad, styles, cursor. */
const LEAVE_MODES =
  '\u001b[?1049l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?1004l\u001b[?1l\u001b>\u001b[<u\u001b[0m\u001b[?25h';
/** Empties screen and kept rows and resets everything (RIS). */
const RESET = '\u001bc\u001b[3J';

export interface HeldTerminal {
  /** As a terminal that was just opened. */
  reset(): void;
  /** Gives the terminal back as it was. */
  release(): void;
}

/** Signals that end this process while it holds the terminal: 128 + number is the exit code that shells expect. */
const ENDING = { SIGTERM: 143, SIGHUP: 129 } as const;

/** Keeps the title of the window, and puts it back. Source: xterm's control sequences, XTWINOPS 22 and 23. */
const KEEP_TITLE = '\u001b[22;2t';
const TITLE_BACK = '\u001b[23;2t';

/**
 * Takes keys one by one and unchanged; whatever ends this process, the terminal is given back.
 * @param title of the window, until the program gives it another; what it was comes back
 */
export function holdTerminal(input: ReadStream, output: WriteStream, title: string): HeldTerminal {
  input.setRawMode(true);
  input.resume();
  output.write(`${KEEP_TITLE}\u001b]2;${title}\u0007`);
  const release = () => {
    process.off('exit', release);
    input.setRawMode(false);
    input.pause();
    output.write(`${LEAVE_MODES}${TITLE_BACK}\r\n`);
  };
  process.on('exit', release);
  for (const [name, code] of Object.entries(ENDING)) process.once(name, () => process.exit(code));
  return { reset: () => output.write(RESET), release };
}
