import { describe, expect, test } from 'vitest';
import { openDialog, withDialog } from '../../../../sidecar/agents/claude/open-dialog.ts';
import { SCREENS } from './screens.ts';

describe('a dialog on the screen', () => {
  test('says what it is, and which keys it takes', () => {
    expect(openDialog(SCREENS.autoModeUnchecked)).toEqual({
      title: "Auto mode can't check actions in this session",
      keys: 'Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel',
      options: [],
    });
    expect(openDialog(SCREENS.help)).toMatchObject({ keys: '←/→ to switch · Esc to close', options: [] });
  });

  test('has the choices that it numbers', () => {
    expect(openDialog(SCREENS.model)).toMatchObject({ title: 'Select model' });
    expect(openDialog(SCREENS.model)?.options).toEqual([
      'Default (recommended) ✔  Use the default model (currently Opus 5.5) · $4/$20 per Mtok',
      'Opus                     Opus 5.5 · Best for everyday, complex tasks · $4/$20 per Mtok',
      'Haiku                    Haiku 5.5 · Fastest for quick answers · $0.10/$0.50 per Mtok ($0.50/$2.50 for',
    ]);
  });

  test.each(['draft', 'emptyComposer', 'shellMode', 'placeholder'] as const)(
    'is none where the composer stands: %s',
    (name) => expect(openDialog(SCREENS[name])).toBeUndefined(),
  );

  test('is shown without what could move the cursor, and cut', () => {
    const rule = '─'.repeat(60);
    const dialog = openDialog([
      rule,
      ' Pick \u001b[2J\u202eone',
      ` ❯ 1. ${'x'.repeat(999)}`,
      '   2. b',
      ' Esc to cancel',
    ]);
    expect(dialog?.title).toBe('Pick  [2J one');
    expect(dialog?.options[0]).toHaveLength(120);
    expect(openDialog([rule, 'x'.repeat(500), 'Esc to cancel'])).toBeUndefined();
  });

  test('gives its words to a reason that has none of its own', () => {
    const reason = { kind: 'unknown', message: 'dialog open' } as const;
    expect(withDialog(reason, SCREENS.autoModeUnchecked)).toEqual({
      kind: 'unknown',
      dialog: true,
      message:
        "Auto mode can't check actions in this session. Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel",
    });
    expect(withDialog(reason, SCREENS.emptyComposer)).toEqual(reason);
    expect(withDialog({ ...reason, kind: 'permission' }, SCREENS.permission)).toMatchObject({
      kind: 'permission',
      message: 'Bash command. Esc to cancel · Tab to amend',
    });
  });
});
