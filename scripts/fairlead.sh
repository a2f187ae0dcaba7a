#!/bin/sh
# The command `fairlead` in terminals of VS Code, run by the Node that the extension runs the sidecar with.
bin=$(dirname -- "$0")
ELECTRON_RUN_AS_NODE=1 exec "${FAIRLEAD_NODE_PATH:-${FAIRLEAD_EDITOR_NODE:-node}}" "$bin/../fairlead.js" "$@"
