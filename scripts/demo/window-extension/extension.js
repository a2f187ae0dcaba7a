const vscode = require('vscode');

/** A new window shows the Explorer, and the demo plays in the view of Fairlead. */
exports.activate = () => vscode.commands.executeCommand('fairlead.showFleet');
