import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Log } from './log.ts';
import { damaged, READONLY, resultCode, storeError } from './sqlite-error.ts';

export type Row = Record<string, unknown>;
export type Bindings = Record<string, SQLInputValue>;
/** For `?` in their order: half the time of names in a statement that runs for every row of a history. */
export type Positional = readonly SQLInputValue[];

/** A forward-only step of the schema; its number is its place in the list, from 1. */
export type Migration = string;

/** File systems on which SQLite's shared memory does not work: NFS, SMB, CIFS, SMB2, AFS, 9p. Source: statfs(2). */
const NETWORK_FILE_SYSTEMS = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x01021997]);

/** Whether `folder` is on a file system where SQLite must not use a write-ahead log. */
export function isOnNetwork(folder: string): boolean {
  try {
    return NETWORK_FILE_SYSTEMS.has(statfsSync(folder).type);
  } catch {
    return false;
  }
}

/** The database of decisions and intents. One process writes it: the sidecar. */
export class Store {
  readonly #database: DatabaseSync;
  readonly #file: string;
  /** Whether there is a write-ahead log. */
  readonly #hasLog: boolean;
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;
  #version = 0;
  /** What waits for the transaction that runs. */
  #afterCommit: (() => void)[] = [];
  readonly #notTold: (error: unknown) => void;

  private constructor(database: DatabaseSync, file: string, log: Pick<Log, 'error'> | undefined) {
    this.#database = database;
    this.#notTold = (error) => {
      if (log === undefined) process.emitWarning(error instanceof Error ? error : String(error));
      else log.error('change not told', { error: messageOf(error) });
    };
    this.#file = file;
    this.#hasLog = database.prepare('PRAGMA journal_mode').get()?.journal_mode === 'wal';
  }

  /**
   * Opens `file`, made when there is none, and brings it to the last migration.
   * A file that does not open, or that a newer version wrote, is left as it is. So is an empty one: a database is made
   * whole under another name before it gets its own, so nothing of ours is ever empty. `log` hears of listeners that
   * throw; without one it is a warning of the process.
   * @throws FairleadError `store.newer`, `store.damaged`, `home.read-only`, `disk.full`
   */
  static open(file: string, migrations: readonly Migration[], log?: Pick<Log, 'error'>): Store {
    try {
      const size = statSync(file, { throwIfNoEntry: false })?.size;
      if (size === undefined) make(file, migrations);
      else if (size === 0) throw damaged(file, 'it is empty');
      else inspect(file, migrations.length);
      chmodSync(file, 0o600);
      return new Store(openMigrated(file, migrations), file, log);
    } catch (error) {
      throw storeError(file, error);
    }
  }

  /**
   * Runs a statement that returns nothing; gives the number of rows it changed.
   * @throws FairleadError `disk.full`, `home.read-only`, `store.damaged`
   */
  run(sql: string, bindings: Bindings | Positional = {}): number {
    return this.#told(() => {
      this.#version += 1;
      const statement = this.#prepare(sql);
      const { changes } = isPositional(bindings) ? statement.run(...bindings) : statement.run(bindings);
      return Number(changes);
    });
  }

  /** The first row, or undefined. */
  get(sql: string, bindings: Bindings | Positional = {}): Row | undefined {
    return this.#told(() => {
      const statement = this.#prepare(sql);
      return isPositional(bindings) ? statement.get(...bindings) : statement.get(bindings);
    });
  }

  all(sql: string, bindings: Bindings | Positional = {}): Row[] {
    return this.#told(() => {
      const statement = this.#prepare(sql);
      return isPositional(bindings) ? statement.all(...bindings) : statement.all(bindings);
    });
  }

  /** Runs a statement that inserts one row into a table with an integer key; gives the key. */
  insert(sql: string, bindings: Bindings | Positional): number {
    return this.#told(() => {
      this.#version += 1;
      const statement = this.#prepare(sql);
      const done = isPositional(bindings) ? statement.run(...bindings) : statement.run(bindings);
      return Number(done.lastInsertRowid);
    });
  }

  /** All or nothing. Nested calls join the outer transaction. `work` must not await. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.#told(() => this.#database.exec('BEGIN IMMEDIATE'));
    this.#depth += 1;
    let result: T;
    try {
      result = work();
      this.#told(() => this.#database.exec('COMMIT'));
    } catch (error) {
      this.#afterCommit = [];
      this.#version += 1;
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    } finally {
      this.#depth -= 1;
    }
    for (let next = this.#afterCommit.shift(); next !== undefined; next = this.#afterCommit.shift()) {
      this.#tell(next);
    }
    return result;
  }

  /**
   * A {@link transaction} for what can be derived again: the disk is not waited for, so that the last ones may be gone
   * after a loss of power (never after the end of the process), each whole. The next other transaction waits for these
   * too. Where there is no write-ahead log it is like any other.
   * Source: PRAGMA synchronous, https://sqlite.org/pragma.html#pragma_synchronous
   */
  derivedTransaction<T>(work: () => T): T {
    if (this.#depth > 0 || !this.#hasLog) return this.transaction(work);
    this.#told(() => this.#database.exec('PRAGMA synchronous = NORMAL'));
    try {
      return this.transaction(work);
    } finally {
      this.#told(() => this.#database.exec('PRAGMA synchronous = FULL'));
    }
  }

  /**
   * Does `work` once what the transaction that runs has changed is kept; at once when none runs, never when it is
   * rolled back. For telling others: nobody is to hear of what did not come to be. What it throws goes to the log: what
   * was kept is kept, and others are to hear of it.
   */
  afterCommit(work: () => void): void {
    if (this.#depth > 0) this.#afterCommit.push(work);
    else this.#tell(work);
  }

  #tell(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#notTold(error);
    }
  }

  /** Whether what is run belongs to a transaction that may still be rolled back. */
  get isInTransaction(): boolean {
    return this.#depth > 0;
  }

  /** Another one after each write and each transaction that was rolled back: at the same one, rows are as they were. */
  get version(): number {
    return this.#version;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** What SQLite says, in the words of the error family. */
  #told<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storeError(this.#file, error);
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      statement.setAllowUnknownNamedParameters(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function isPositional(bindings: Bindings | Positional): bindings is Positional {
  return Array.isArray(bindings);
}

/** Logs that SQLite keeps beside a database. */
const LOGS = ['-wal', '-journal'];

/**
 * Makes a database under another name first: whoever finds `file` finds all of it.
 * @throws FairleadError `store.damaged`: there was one, and what it had not yet taken in is still there
 */
function make(file: string, migrations: readonly Migration[]): void {
  for (const log of LOGS) {
    const left = statSync(file + log, { throwIfNoEntry: false });
    if (left !== undefined && left.size > 0) throw damaged(file, `it is gone, and ${file + log} is there`);
  }
  const unfinished = `${file}.unfinished`;
  for (const end of ['', '-shm', ...LOGS]) rmSync(unfinished + end, { force: true });
  // Made by us: SQLite would let the umask decide who may read it for the first instant.
  closeSync(openSync(unfinished, 'wx', 0o600));
  openMigrated(unfinished, migrations).close();
  renameSync(unfinished, file);
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function openMigrated(file: string, migrations: readonly Migration[]): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true });
  try {
    database.exec(`PRAGMA journal_mode = ${isOnNetwork(dirname(file)) ? 'DELETE' : 'WAL'}`);
    database.exec('PRAGMA synchronous = FULL');
    const version = versionOf(database);
    for (const [index, sql] of migrations.entries()) {
      if (index < version) continue;
      database.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`);
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version);
}

/**
 * Looks at a file without changing a byte of it: a connection that may write would move what stands in the write-ahead
 * log into the file when it closes.
 * @throws FairleadError `store.newer`, `store.damaged`
 */
function inspect(file: string, known: number): void {
  const database = new DatabaseSync(file, { timeout: 5_000, readOnly: true });
  try {
    const version = versionOf(database);
    if (version > known) {
      throw new FairleadError(
        'store.newer',
        `${file} was written by a newer Fairlead (schema ${version}; this one knows ${known}).`,
        { hint: 'Update Fairlead, or set FAIRLEAD_HOME to another folder. The file was not touched.' },
      );
    }
    const found = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
    if (found !== 'ok') throw damaged(file, `quick_check: ${String(found)}`);
  } catch (error) {
    // A rollback journal of a process that was killed: only a connection that writes can play it back.
    if (resultCode(error) !== READONLY) throw error;
  } finally {
    database.close();
  }
}
