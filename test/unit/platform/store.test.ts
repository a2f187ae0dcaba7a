import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Store } from '../../../sidecar/platform/store.ts';

const FIRST = 'CREATE TABLE a (x INTEGER) STRICT';
const SECOND = 'ALTER TABLE a ADD COLUMN y TEXT';

describe('the store', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-store-'));
    file = join(folder, 'state.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is made for its owner alone, whatever the umask, and brought to the last migration once', () => {
    const umask = process.umask(0);
    try {
      Store.open(file, [FIRST]).close();
    } finally {
      process.umask(umask);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const store = Store.open(file, [FIRST, SECOND]);
    store.run("INSERT INTO a VALUES (1, 'one')");
    store.close();
    const again = Store.open(file, [FIRST, SECOND]);
    expect(again.all('SELECT * FROM a')).toEqual([{ x: 1, y: 'one' }]);
    again.close();
  });

  it('whose migration fails stays as it was before that', () => {
    const store = Store.open(file, [FIRST]);
    store.run('INSERT INTO a VALUES (1)');
    store.close();
    expect(() => Store.open(file, [FIRST, 'CREATE TABLE b (x); CREATE TABLE a (x)'])).toThrow();
    const again = Store.open(file, [FIRST]);
    expect(again.all('SELECT name FROM sqlite_schema')).toEqual([{ name: 'a' }]);
    again.close();
  });

  it('gives the key of a row that it inserts, however its values are named', () => {
    const store = Store.open(file, ['CREATE TABLE k (id INTEGER PRIMARY KEY, x TEXT) STRICT']);
    expect(store.insert('INSERT INTO k (x) VALUES (?)', ['one'])).toBe(1);
    expect(store.insert('INSERT INTO k (x) VALUES (:x)', { x: 'two' })).toBe(2);
    store.close();
  });

  it('gives all of a transaction or nothing, and goes on after one that failed', () => {
    const store = Store.open(file, [FIRST]);
    const failing = () =>
      store.transaction(() => {
        store.run('INSERT INTO a VALUES (1)');
        store.transaction(() => store.run('INSERT INTO a VALUES (2)'));
        throw new Error('changed my mind');
      });
    expect(failing).toThrow('changed my mind');
    expect(store.all('SELECT * FROM a')).toEqual([]);
    expect(store.transaction(() => store.run('INSERT INTO a VALUES (3)'))).toBe(1);
    expect(store.get('SELECT x FROM a')).toEqual({ x: 3 });
    store.close();
  });

  it('keeps a transaction though a listener throws, tells the others and logs it', () => {
    const logged: unknown[] = [];
    const store = Store.open(file, [FIRST], { error: (event, fields) => logged.push([event, fields]) });
    const told: string[] = [];
    const failing = () => {
      throw new Error('not heard');
    };
    const count = store.transaction(() => {
      store.afterCommit(() => told.push('one'));
      store.afterCommit(failing);
      store.afterCommit(() => told.push('two'));
      return store.run('INSERT INTO a VALUES (1)');
    });
    expect(count).toBe(1);
    expect(told).toEqual(['one', 'two']);
    store.afterCommit(failing);
    expect(logged).toEqual(Array(2).fill(['change not told', { error: 'not heard' }]));
    store.transaction(() => {});
    expect(told).toEqual(['one', 'two']);
    store.close();
  });

  it('from a newer version is refused without a byte of it, or of its log, being changed', () => {
    const writer = new DatabaseSync(file);
    writer.exec(`PRAGMA journal_mode = WAL; ${FIRST}; INSERT INTO a VALUES (1); PRAGMA user_version = 7`);
    const left = join(folder, 'left.db');
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${left}${end}`);
    writer.close();
    const before = [readFileSync(left), readFileSync(`${left}-wal`)];
    expect(() => Store.open(left, [FIRST])).toThrow(expect.objectContaining({ code: 'store.newer' }));
    expect([readFileSync(left), readFileSync(`${left}-wal`)]).toEqual(before);
    const intact = new DatabaseSync(left);
    expect(intact.prepare('SELECT x FROM a').all()).toEqual([{ x: 1 }]);
    intact.close();
  });

  it.each([
    ['empty', () => Buffer.alloc(0)],
    ['garbage', () => Buffer.from('garbage '.repeat(1_000))],
    [
      'torn',
      (whole: Buffer) => Buffer.concat([whole.subarray(0, 4_096), Buffer.alloc(whole.length - 4_096, 0xff)]),
    ],
  ])('that is %s is refused and left as it is', (_what, damage) => {
    const store = Store.open(file, [FIRST]);
    store.transaction(() => {
      for (let x = 0; x < 2_000; x += 1) store.run('INSERT INTO a VALUES (:x)', { x });
    });
    store.close();
    writeFileSync(file, damage(readFileSync(file)));
    const before = readFileSync(file);
    expect(() => Store.open(file, [FIRST])).toThrow(expect.objectContaining({ code: 'store.damaged' }));
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => name !== 'state.db' && !/-(wal|shm)$/.test(name))).toEqual(
      [],
    );
  });

  it('that is gone is not replaced while what it had not yet taken in is there', () => {
    const store = Store.open(file, [FIRST]);
    store.run('INSERT INTO a VALUES (1)');
    const left = join(folder, 'left.db');
    copyFileSync(`${file}-wal`, `${left}-wal`);
    store.close();
    expect(() => Store.open(left, [FIRST])).toThrow(expect.objectContaining({ code: 'store.damaged' }));
    expect(existsSync(left)).toBe(false);
    expect(statSync(`${left}-wal`).size).toBeGreaterThan(0);
  });

  it('that a process died while making is made anew', () => {
    writeFileSync(`${file}.unfinished`, 'half a database');
    const store = Store.open(file, [FIRST]);
    store.run('INSERT INTO a VALUES (1)');
    store.close();
    expect(readdirSync(folder)).toEqual(['state.db']);
  });

  it('whose first migration fails is not there', () => {
    expect(() => Store.open(file, ['CREATE TABLE'])).toThrow();
    expect(existsSync(file)).toBe(false);
  });

  it('plays back the journal of a writer that was killed, where there is no write-ahead log', () => {
    const writer = new DatabaseSync(file);
    writer.exec(`PRAGMA journal_mode = DELETE; ${FIRST}; INSERT INTO a VALUES (1); PRAGMA user_version = 1`);
    writer.exec('PRAGMA cache_size = 1; BEGIN; CREATE TABLE filler (x)');
    const insert = writer.prepare('INSERT INTO filler VALUES (randomblob(3000))');
    for (let row = 0; row < 200; row += 1) insert.run();
    const left = join(folder, 'left.db');
    for (const end of ['', '-journal']) copyFileSync(`${file}${end}`, `${left}${end}`);
    writer.exec('ROLLBACK');
    writer.close();
    expect(existsSync(`${left}-journal`)).toBe(true);
    const store = Store.open(left, [FIRST]);
    expect(store.all('SELECT x FROM a')).toEqual([{ x: 1 }]);
    store.close();
  });
});
