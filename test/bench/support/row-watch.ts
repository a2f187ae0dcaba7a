/**
 * Watches the rows of trees in the page of a workbench: when a row is drawn, and how long frames take. As text, which
 * the page evaluates: the types of a browser are not those of this program.
 */
export const ROW_WATCH = `(() => {
  const ROW = '.customview-tree .monaco-list-row';
  const treeOf = (row) => (row.closest('.part.panel') ? 'peer' : 'fleet');
  const wordsOf = (row) => [...row.querySelectorAll('.label-name, .label-description')].map((part) => part.textContent).join(' ');
  const watch = {
    changes: [],
    longestFrame: 0,
    begin() {
      watch.changes = [];
      watch.longestFrame = 0;
    },
    firstAt(tree, text) {
      return watch.changes.find((change) => change.tree === tree && change.words.includes(text))?.at ?? 0;
    },
    rows(tree) {
      return [...document.querySelectorAll(ROW)]
        .filter((row) => treeOf(row) === tree)
        .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
        .map(wordsOf);
    },
  };
  const note = (node, at) => {
    const element = node.nodeType === 1 ? node : node.parentElement;
    const inside = element?.closest?.(ROW);
    for (const row of inside ? [inside] : (element?.querySelectorAll?.(ROW) ?? [])) {
      watch.changes.push({ tree: treeOf(row), words: wordsOf(row), at });
    }
  };
  new MutationObserver((records) => {
    const at = Date.now();
    for (const { target, addedNodes } of records) {
      if (target.closest?.(ROW) ?? target.parentElement?.closest?.(ROW)) note(target, at);
      for (const added of addedNodes) note(added, at);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  let last = performance.now();
  const frame = (now) => {
    watch.longestFrame = Math.max(watch.longestFrame, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  globalThis.rowWatch = watch;
})()`;
