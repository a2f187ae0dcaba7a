import { chmodSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { FairleadError, messageOf } from '../protocol/errors.ts';

export type Row = Record<string, unknown>;
export type Bindings = Record<string, SQLInputValue>;

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
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Opens `file`, made when there is none, and brings it to the last migration.
   * A file that does not open, or that a newer version wrote, is left as it is.
   * @throws FairleadError `store.newer`, `store.damaged`, `home.read-only`, `disk.full`
   */
  static open(file: string, migrations: readonly Migration[]): Store {
    const existed = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true });
      const version = versionOf(database);
      if (version > migrations.length) {
        throw new FairleadError(
          'store.newer',
          `${file} was written by a newer Fairlead (schema ${version}; this one knows ${migrations.length}).`,
          { hint: 'Update Fairlead, or set FAIRLEAD_HOME to another folder. The file was not touched.' },
        );
      }
      if (existed) verify(database, file);
      chmodSync(file, 0o600);
      database.exec(`PRAGMA journal_mode = ${isOnNetwork(dirname(file)) ? 'DELETE' : 'WAL'}`);
      database.exec('PRAGMA synchronous = FULL');
      for (const [index, sql] of migrations.entries()) {
        if (index < version) continue;
        database.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`);
      }
      return new Store(database);
    } catch (error) {
      database?.close();
      throw openingError(file, error);
    }
  }

  /** Runs a statement that returns nothing; gives the number of rows it changed. */
  run(sql: string, bindings: Bindings = {}): number {
    return Number(this.#prepare(sql).run(bindings).changes);
  }

  /** The first row, or undefined. */
  get(sql: string, bindings: Bindings = {}): Row | undefined {
    return this.#prepare(sql).get(bindings);
  }

  all(sql: string, bindings: Bindings = {}): Row[] {
    return this.#prepare(sql).all(bindings);
  }

  /** The key of the last row that was inserted. */
  lastInsertId(): number {
    return Number(this.get('SELECT last_insert_rowid() AS id')?.id);
  }

  /** All or nothing. Nested calls join the outer transaction. `work` must not await. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.#database.exec('BEGIN IMMEDIATE');
    this.#depth += 1;
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
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

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version);
}

function verify(database: DatabaseSync, file: string): void {
  const found = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  if (found !== 'ok') throw damaged(file, `quick_check: ${String(found)}`);
}

function damaged(file: string, why: string, cause?: unknown): FairleadError {
  return new FairleadError('store.damaged', `${file} is damaged (${why}).`, {
    hint: 'It was left as it is. Move it aside to start with an empty fleet; branches and worktrees stay.',
    cause,
  });
}

/** SQLite's primary result codes. Source: sqlite.org/rescode.html */
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

function openingError(file: string, error: unknown): unknown {
  if (error instanceof FairleadError) return error;
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
  if (code === CORRUPT || code === NOTADB) return damaged(file, messageOf(error), error);
  if (code === READONLY || code === CANTOPEN) {
    return new FairleadError('home.read-only', `${file} cannot be written.`, {
      hint: 'Make the folder writable, or set FAIRLEAD_HOME to one that is.',
      cause: error,
    });
  }
  if (code === FULL) {
    return new FairleadError('disk.full', `The disk of ${file} is full.`, {
      hint: 'Free some space.',
      cause: error,
    });
  }
  return error;
}
