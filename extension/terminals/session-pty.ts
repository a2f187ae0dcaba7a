import { StringDecoder } from 'node:string_decoder';
import * as vscode from 'vscode';
import type { Attachment, AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import type { Pane } from '../../sidecar/protocol/protocol.ts';
import type { Size } from '../../sidecar/protocol/ptywire.ts';
import { failureOf } from '../connection/failure.ts';
import { printable } from './printable.ts';
import { RendererAcks } from './renderer-acks.ts';

/** Bytes of output that may be on their way to the renderer. */
const WINDOW = 512 * 1024;
/** Output is gathered so long before it is written, in milliseconds: fewer and larger writes draw faster. */
const GATHER_MS = 3;
/** Joining that takes longer is said, in milliseconds: before it, what would be read is gone at once. */
const JOINS_WITHIN_MS = 400;
/** Codes of a terminal that is no more: the process that held it has ended. */
const GONE: readonly string[] = ['ptyhost.lost', 'terminal.gone', 'terminal.ticket-refused'];

const AGAIN: Record<Pane, string> = {
  agent: 'Press Enter to start the agent again with its conversation.',
  shell: 'Press Enter for another shell.',
};

const ASLEEP: Record<Pane, string> = {
  agent: 'The agent does not run.',
  shell: 'The shell has ended.',
};

const JOINING: Record<Pane, string> = {
  agent: 'Waiting for the agent…',
  shell: 'Waiting for the shell…',
};

const RESET = '\u001bc\u001b[3J';

/**
 * Drawn as large as there is room: VS Code draws nothing larger, and passes on no `undefined`, which should end what was
 * overridden. Source: `ExtHostPseudoterminal` of VS Code 1.105 to 1.128, seen.
 */
const AS_LARGE_AS_IT_IS: vscode.TerminalDimensions = { columns: 0xffff, rows: 0xffff };

/** What a terminal says by itself: focus came or went, and answers to what the program asked it. */
const FOCUS_IN = '\u001b[I';
const FOCUS_OUT = '\u001b[O';
const REPLY = /^\u001b(\[[IO]|\[[?>=]?[\d;]*[cnuRty]|\[[?]?[\d;]*\$y|[\]P_])/;

/**
 * When the program is joined: at once, when the terminal is first seen (until then its size is none that anybody has
 * chosen), or when the person asks for it, because joining would start what sleeps.
 */
export type Joining = 'now' | 'when-seen' | 'when-asked';

/** Opens the byte stream of the terminal; an agent that sleeps is started for it. */
type OpenStream = (options: AttachmentOptions) => Promise<Attachment>;

/**
 * A terminal of a session in the window: the ptyhost's byte stream, drawn by VS Code. It may go and come as it likes;
 * the program knows nothing of it.
 */
export class SessionPty implements vscode.Pseudoterminal {
  readonly #open: OpenStream;
  readonly #pane: Pane;
  readonly #written = new vscode.EventEmitter<string>();
  readonly onDidWrite = this.#written.event;
  readonly #closed = new vscode.EventEmitter<number>();
  readonly onDidClose = this.#closed.event;
  readonly #renamed = new vscode.EventEmitter<string>();
  readonly onDidChangeName = this.#renamed.event;
  readonly #overridden = new vscode.EventEmitter<vscode.TerminalDimensions>();
  readonly onDidOverrideDimensions = this.#overridden.event;
  /** As large as it is in this window. */
  #size: Size | undefined;
  #isOpened = false;
  /** As large as VS Code said when it opened it. */
  #unseen: Size | undefined;
  /** As large as another client has made it meanwhile: drawn so, as one program has one size. */
  #foreign: Size | undefined;
  #attachment: Attachment | undefined;
  #acks = new RendererAcks(() => {});
  #decoder = new StringDecoder('utf8');
  #gathered = '';
  #gatheredTo = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The program has ended, or could not be reached: a key begins again. */
  #waitsForKey = false;
  #isOver = false;
  #isOpening = false;
  /** What the person has typed since the program is being joined. */
  #typedAhead = '';
  #joining: Joining;
  #hasFocus = false;
  #typedAt = 0;
  readonly #attended = new vscode.EventEmitter<void>();
  /** The person typed in it, or it got the focus. */
  readonly onDidAttend = this.#attended.event;

  constructor(open: OpenStream, pane: Pane, joining: Joining = 'now') {
    this.#open = open;
    this.#pane = pane;
    this.#joining = joining;
  }

  /** Whether it has the focus, as far as the program has asked to be told: else false. */
  get hasFocus(): boolean {
    return this.#hasFocus;
  }

  /** When the person last typed in it, in milliseconds since the epoch; 0 for never. */
  get typedAt(): number {
    return this.#typedAt;
  }

  open(size: vscode.TerminalDimensions | undefined): void {
    this.#isOpened = true;
    this.#unseen = sizeOf(size);
    if (this.#joining === 'when-seen') return;
    this.#size = sizeOf(size);
    if (this.#joining === 'now') void this.#attach();
    else this.#say(ASLEEP[this.#pane], AGAIN[this.#pane]);
  }

  setDimensions(size: vscode.TerminalDimensions): void {
    const own = sizeOf(size);
    // What is not shown has a size that VS Code made up: 80 columns and 30 rows.
    if (this.#joining === 'when-seen' && isSame(own, this.#unseen)) return;
    // VS Code tells the size that it was told to draw, too.
    if (this.#foreign !== undefined && isSame(own, this.#foreign)) return;
    this.#size = own;
    this.claim(true);
  }

  handleInput(data: string): void {
    const keys = this.#acks.input(data);
    if (keys === '') return;
    this.#attend(keys);
    if (this.#waitsForKey) {
      if (/[\r\n]/.test(keys)) void this.#attach();
      return;
    }
    if (this.#isOpening) this.#typeAhead(keys);
    else this.#attachment?.write(keys);
  }

  /** Nobody has seen yet what Enter would say yes to: an agent may begin with a question. */
  #typeAhead(keys: string): void {
    if (REPLY.test(keys) || (this.#pane === 'agent' && /^[\r\n]+$/.test(keys))) return;
    this.#typedAhead += keys;
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#attachment?.detach();
  }

  /** Shows the program again that was started by somebody else after this one's had ended. */
  rejoin(): void {
    if (this.#waitsForKey) void this.#attach();
  }

  rename(name: string): void {
    this.#renamed.fire(name);
  }

  /**
   * To be called when it is seen or used here. Gives the program the size of this window again, if another has changed it;
   * in any case when `isNew`.
   */
  claim(isNew = false): void {
    if (this.#joining === 'when-seen') {
      // VS Code takes the first terminal that is made for the active one, though nobody sees it.
      if (!this.#isOpened) return;
      this.#joining = 'now';
      void this.#attach();
      return;
    }
    if (this.#size === undefined || (this.#foreign === undefined && !isNew)) return;
    this.#attachment?.resize(this.#size);
    this.#draw(undefined);
  }

  /** Undefined draws it as large as it is here. */
  #draw(foreign: Size | undefined): void {
    if (isSame(foreign, this.#foreign)) return;
    this.#foreign = foreign;
    const drawn = foreign && { columns: foreign.cols, rows: foreign.rows };
    this.#overridden.fire(drawn ?? AS_LARGE_AS_IT_IS);
  }

  #attend(keys: string): void {
    const focus = Math.max(keys.lastIndexOf(FOCUS_IN), keys.lastIndexOf(FOCUS_OUT));
    if (focus >= 0) this.#hasFocus = keys.startsWith(FOCUS_IN, focus);
    const isTyped = !REPLY.test(keys);
    if (isTyped) this.#typedAt = Date.now();
    if (!isTyped && !(focus >= 0 && this.#hasFocus)) return;
    this.claim();
    this.#attended.fire();
  }

  async #attach(): Promise<void> {
    if (this.#isOpening || this.#isOver) return;
    this.#isOpening = true;
    this.#typedAhead = '';
    const isAskedFor = this.#waitsForKey;
    this.#waitsForKey = false;
    const late = setTimeout(() => this.#noteJoining(), isAskedFor ? 0 : JOINS_WITHIN_MS);
    try {
      const attachment = await this.#open({
        client: 'vscode',
        window: WINDOW,
        manualAck: true,
        ...(this.#size === undefined ? {} : { size: this.#size }),
      });
      if (this.#isOver) return attachment.detach();
      this.#follow(attachment);
      if (this.#typedAhead !== '') attachment.write(this.#typedAhead);
    } catch (error) {
      this.#sayFailure(error);
    } finally {
      clearTimeout(late);
      this.#isOpening = false;
    }
  }

  #follow(attachment: Attachment): void {
    this.#attachment = attachment;
    this.#draw(undefined);
    this.#hasFocus = false;
    this.#acks = new RendererAcks((position) => attachment.processed(position), this.#acks);
    this.#decoder = new StringDecoder('utf8');
    let isFirst = true;
    attachment.on('snapshot', ({ bytes, position, cols, rows }) => {
      this.#flush();
      this.#written.fire(this.#acks.snapshot(RESET + bytes.toString('utf8'), position));
      const isOwn = this.#size === undefined || isSame(this.#size, { cols, rows });
      // The window was resized while the stream was opened; later another client was.
      if (isFirst && !isOwn) this.claim(true);
      else this.#draw(isOwn ? undefined : { cols, rows });
      isFirst = false;
    });
    attachment.on('resize', (size) => {
      // What came before is of the size before.
      this.#flush();
      this.#draw(isSame(size, this.#size) ? undefined : size);
    });
    attachment.on('data', (bytes, position) => this.#gather(bytes, position + bytes.length));
    attachment.on('fault', (error) => this.#note(error.message));
    attachment.on('exit', ({ exitCode, signal }) => {
      this.#flush();
      this.#attachment = undefined;
      if (this.#pane === 'shell') return this.#closed.fire(exitCode ?? 1);
      this.#say(endWords(exitCode, signal), AGAIN.agent);
    });
    attachment.on('lost', (reason) => {
      this.#flush();
      this.#attachment = undefined;
      this.#sayFailure(reason);
    });
  }

  #gather(bytes: Buffer, end: number): void {
    this.#gathered += this.#decoder.write(bytes);
    this.#gatheredTo = end;
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#gathered === '') return;
    const text = this.#gathered;
    this.#gathered = '';
    this.#written.fire(this.#acks.output(text, this.#gatheredTo));
  }

  /** Nothing is started by itself: that a turn was cut off is for the person to see. */
  #sayFailure(error: unknown): void {
    const { code, message, hint } = failureOf(error);
    if (GONE.includes(code)) {
      this.#say('This terminal was lost: the process that held it has ended.', AGAIN[this.#pane]);
    } else {
      this.#say(message, `${hint === undefined ? '' : `${hint} `}Press Enter to try again.`);
    }
  }

  #noteJoining(): void {
    if (!this.#isOver) this.#note(JOINING[this.#pane]);
  }

  #note(text: string): void {
    this.#written.fire(`\r\n\u001b[2m${printable(text)}\u001b[0m\r\n`);
  }

  #say(what: string, next: string): void {
    this.#waitsForKey = true;
    this.#written.fire(
      `\u001b[0m\u001b[?1049l\u001b[?25h\r\n\u001b[1m${printable(what)}\u001b[0m\r\n\u001b[2m${printable(next)}\u001b[0m\r\n`,
    );
  }
}

/** What `Stop` sends, and the exit code of an agent that has ended in order because of it. */
const STOPPED = { signal: 'SIGTERM', exitCode: 128 + 15 };

function endWords(exitCode: number | null, signal: string | null): string {
  if (signal === STOPPED.signal || exitCode === STOPPED.exitCode) return 'The agent was stopped.';
  return signal === null ? `The agent has ended (exit ${exitCode}).` : `The agent was ended (${signal}).`;
}

function isSame(a: Size | undefined, b: Size | undefined): boolean {
  return a?.cols === b?.cols && a?.rows === b?.rows;
}

/** Undefined for what no terminal has. */
function sizeOf(size: vscode.TerminalDimensions | undefined): Size | undefined {
  if (size === undefined || size.columns < 1 || size.rows < 1) return undefined;
  return { cols: size.columns, rows: size.rows };
}
