import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFoldersIn } from '../platform/folders.ts';
import { type Git, gitFailure } from './git.ts';
import { decodePath, pathOnDisk, splitNul } from './names.ts';
import type { Repository } from './repository.ts';

/** Path → blob of every `.gitattributes` of a commit, and of its `.gitmodules`. */
type Listing = ReadonlyMap<string, string>;

const NAMES = [':(glob)**/.gitattributes', ':(top,literal).gitmodules'];
/** How many commits are remembered; a queue works on one base and a few candidates on top of it. */
const REMEMBERED = 16;

/**
 * git takes the attributes of a merge (`merge=union`, drivers, line endings) from `.gitattributes` files on disk.
 * This keeps folders that hold nothing but those files of a commit, at every level, to merge in. Folders are named
 * by what they hold and never change, so that they are shared by merges that run at once and survive restarts.
 */
export class AttributeFolders {
  readonly #repository: Repository;
  readonly #listings = new Map<string, Listing>();

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** git whose working tree is a folder with the attributes of `commit`. */
  async gitFor(commit: string): Promise<Git> {
    const folder = await this.#folderFor(await this.#listing(commit));
    return this.#repository.git
      .in(folder)
      .withGlobal(`--git-dir=${this.#repository.commonDir}`, `--work-tree=${folder}`);
  }

  async #listing(commit: string): Promise<Listing> {
    const known = this.#listings.get(commit);
    if (known !== undefined) return known;
    const latest = [...this.#listings].at(-1);
    const listing = latest === undefined ? await this.#listAll(commit) : await this.#listFrom(latest, commit);
    this.#listings.set(commit, listing);
    for (const oldest of this.#listings.keys()) {
      if (this.#listings.size <= REMEMBERED) break;
      this.#listings.delete(oldest);
    }
    return listing;
  }

  async #listAll(commit: string): Promise<Listing> {
    const listing = new Map<string, string>();
    for (const field of await this.#repository.git.fields(['ls-tree', '-r', '-z', '--full-tree', commit])) {
      const tab = field.indexOf('\t');
      const path = field.slice(tab + 1);
      const [mode = '', , id = ''] = field.slice(0, tab).split(' ');
      // git reads no attributes through a symbolic link.
      if (mode.startsWith('100') && isWanted(path)) listing.set(path, id);
    }
    return listing;
  }

  /** Follows the difference: a look at the changed folders only, where the whole tree may have 48,000 files. */
  async #listFrom([from, known]: [string, Listing], commit: string): Promise<Listing> {
    const args = [
      'diff-tree',
      '-r',
      '-z',
      '--raw',
      '--no-renames',
      '--no-abbrev',
      from,
      commit,
      '--',
      ...NAMES,
    ];
    const output = await this.#repository.git.attempt(args);
    if (output.exitCode !== 0) return this.#listAll(commit);
    const listing = new Map(known);
    const fields = splitNul(output.stdout);
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const [, mode = '', , id = ''] = (fields[at] ?? Buffer.alloc(0)).toString('latin1').split(' ');
      const path = decodePath(fields[at + 1] ?? Buffer.alloc(0));
      if (mode.startsWith('100')) listing.set(path, id);
      else listing.delete(path);
    }
    return listing;
  }

  async #folderFor(listing: Listing): Promise<string> {
    const entries = [...listing].sort(([one], [other]) => (one < other ? -1 : 1));
    const name = createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 24);
    const parent = join(this.#repository.commonDir, 'fairlead', 'attributes');
    const folder = join(parent, name);
    if (existsSync(folder)) return folder;
    const draft = `.${name}-${randomBytes(6).toString('hex')}`;
    const making = makeFoldersIn(this.#repository.commonDir, 'fairlead', 'attributes', draft);
    try {
      for (const [path, id] of entries) {
        const args = ['cat-file', 'blob', id];
        const blob = await this.#repository.git.attempt(args);
        if (blob.exitCode !== 0) throw gitFailure(this.#repository.git.folder, args, blob);
        const parts = path.split('/');
        const below = parts.slice(0, -1).join('/');
        await mkdir(pathOnDisk(making, below), { recursive: true });
        await writeFile(pathOnDisk(making, path), blob.stdout);
      }
      await rename(making, folder);
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      // Somebody else made the same folder meanwhile.
      if (!existsSync(folder)) throw error;
    }
    return folder;
  }
}

function isWanted(path: string): boolean {
  return path === '.gitmodules' || path === '.gitattributes' || path.endsWith('/.gitattributes');
}
