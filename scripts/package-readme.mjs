// The README of a package, made of the repository's. A registry shows it by itself, so every relative link in it is dead
// unless it is joined to where the repository can be read. HTML comments around parts of README.md say where they belong.

/** What only somebody with a clone can do. */
const CLONE = part('clone');
/** Pictures and documents that are read in the repository. */
const REPOSITORY = part('repository');

/** `hasRepository`: the packager knows where the repository is, and joins what is relative to that. */
export function packageReadme(text, hasRepository) {
  const kept = text.replace(CLONE, '').replace(REPOSITORY, hasRepository ? '$1' : '');
  const odd = /<!-- .* -->/.exec(kept);
  if (odd !== null) throw new Error(`README.md has a mark without its counterpart: ${odd[0]}`);
  return kept;
}

/** Matches `<!-- NAME only -->…<!-- end of NAME only -->`, each alone on a line; the first group is what is between. */
function part(name) {
  return new RegExp(`^<!-- ${name} only -->\\n([\\s\\S]*?)^<!-- end of ${name} only -->\\n`, 'gm');
}
