// First in every bundle: an old Node could not even load the rest, and would say so with a stack trace.
(() => {
  const { emitWarning } = process;
  // node:sqlite is marked experimental in Node 22; people need not read that at every command.
  process.emitWarning = (warning, ...rest) => {
    if (!/SQLite is an experimental/.test(String(warning))) emitWarning.call(process, warning, ...rest);
  };
  try {
    require('node:sqlite');
  } catch {
    const message = `Fairlead needs Node.js 22.13 or newer; this is ${process.version} (${process.execPath}).`;
    const hint = 'Put a newer Node first on your PATH.';
    console.error(
      process.argv.includes('--json')
        ? JSON.stringify({ error: { code: 'node.missing', message, hint } })
        : `error: ${message}\nhint:  ${hint}`,
    );
    process.exit(1);
  }
})();
