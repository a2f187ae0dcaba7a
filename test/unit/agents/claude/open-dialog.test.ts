import { describe, expect, test } from 'vitest';
import { openDialog, withDialog } from '../../../../sidecar/agents/claude/open-dialog.ts';
import { SCREENS } from './screens.ts';

describe('a dialog on the screen', () => {
  test('says what it is, and which keys it takes', () => {
    expect(openDialog(SCREENS.autoModeUnchecked, false)).toEqual({
      title: "Auto mode can't check actions in this session",
      keys: 'Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel',
      options: [],
    });
    expect(openDialog(SCREENS.help, false)).toMatchObject({
      keys: '←/→ to switch · Esc to close',
      options: [],
    });
  });

  test('has the choices that it numbers', () => {
    expect(openDialog(SCREENS.model, false)).toMatchObject({ title: 'Select model' });
    expect(openDialog(SCREENS.model, false)?.options).toEqual([
      'Default (recommended) ✔  Use the default model (currently Opus 5.5) · $4/$20 per Mtok',
      'Opus                     Opus 5.5 · Best for everyday, complex tasks · $4/$20 per Mtok',
      'Haiku                    Haiku 5.5 · Fastest for quick answers · $0.10/$0.50 per Mtok ($0.50/$2.50 for',
    ]);
  });

  test.each(['draft', 'emptyComposer', 'shellMode', 'placeholder'] as const)(
    'is none where the composer stands: %s',
    (name) =>
      expect([openDialog(SCREENS[name], false), openDialog(SCREENS[name], true)]).toEqual([
        undefined,
        undefined,
      ]),
  );

  test('is shown without what could move the cursor, and cut', () => {
    const rule = '─'.repeat(60);
    const dialog = openDialog(
      [rule, ' Pick \u001b[2J\u202eone', ` ❯ 1. ${'x'.repeat(999)}`, '   2. b', ' Esc to cancel'],
      false,
    );
    expect(dialog?.title).toBe('Pick  [2J one');
    expect(dialog?.options[0]).toHaveLength(120);
    expect(openDialog([rule, 'x'.repeat(500), 'Esc to cancel'], true)).toBeUndefined();
  });

  test.each(['autoModeUncheckedInLowTerminal', 'autoModeUncheckedInNarrowTerminal'] as const)(
    'is known by its beginning where its end is below the edge, once a signal tells of it: %s',
    (name) => {
      expect(openDialog(SCREENS[name], true)).toEqual(openDialog(SCREENS.autoModeUnchecked, true));
      expect(openDialog(SCREENS[name], false)).toBeUndefined();
    },
  );

  test('that is not known gives its first words alone, and what an agent writes is none', () => {
    const rows = ['─'.repeat(40), '  Something that nobody has seen before', '  and goes on here', ''];
    expect(openDialog(rows, true)).toEqual({
      title: 'Something that nobody has seen before and goes on here',
      keys: '',
      options: [],
    });
    expect(openDialog(['● I say', `  ${'─'.repeat(40)}`, '  this'], true)).toBeUndefined();
  });

  test('says its keys though they wrap', () => {
    const rule = '─'.repeat(60);
    const keys = [
      '  Enter to stay in auto mode · shift+Tab to leave for accept',
      '  edits mode and stop · Esc to cancel',
    ];
    expect(openDialog([rule, '  Auto mode', '', ...keys], false)?.keys).toBe(
      'Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel',
    );
  });

  test('gives its words to a reason that has none of its own', () => {
    const reason = { kind: 'unknown', message: 'dialog open' } as const;
    expect(withDialog(reason, SCREENS.autoModeUnchecked, true)).toEqual({
      kind: 'unknown',
      dialog: true,
      message:
        "Auto mode can't check actions in this session. Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel",
    });
    expect(withDialog(reason, SCREENS.emptyComposer, true)).toEqual(reason);
    expect(withDialog({ ...reason, kind: 'permission' }, SCREENS.permission, true)).toMatchObject({
      kind: 'permission',
      message: 'Bash command. Esc to cancel · Tab to amend',
    });
  });
});
