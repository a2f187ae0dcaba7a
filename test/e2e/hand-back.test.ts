import { describe, expect } from 'vitest';
import { ASKED, allowCommands, RESOLVED, resolves, rivals } from '../support/harbour-conflict.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest({ settings: { 'workbench.reduceMotion': 'on' } });

describe('a conflict that goes back to its agent', () => {
  it('is told who landed it when it comes to need them, and lands when they land it again', async ({
    app,
    window,
  }) => {
    const { world } = app;
    allowCommands(world);
    const gate = Promise.withResolvers<void>();
    resolves(world, { waitsFor: () => gate.promise }).once();
    const [first] = await rivals(world);
    await world.json('land', first.id, '--to', 'local', '--yes');
    await window.fleet.open();
    const row = window.fleet.row('Count the boats');
    const spoken = () => expect.poll(() => row.getAttribute('aria-label'), { timeout: 60_000 });
    await window.fleet.act(row, 'Land');
    await window.press(window.dialog, 'Commit and Land');
    const landing = window.notification(/Landing "Count the boats".*its agent resolves that \(try 1 of 2\)/);
    await landing.waitFor();
    await spoken().toMatch(/^Count the boats, resolving/);
    // Once it has said something: what is interrupted before stands in the composer again.
    await world.model.waitFor(
      ({ conversation }) =>
        (conversation?.toolResults.length ?? 0) > 0 && ASKED.test(conversation?.prompts.at(-1) ?? ''),
    );
    await window.restMouse();
    await app.picture(window, 'hand-back resolving');

    const news = await window.toldNotifications();
    await window.fleet.choose(row, 'Interrupt');
    const told = window.notification('Needs you to land: "Count the boats"');
    await told.waitFor();
    expect(await told.textContent()).toContain('its agent was interrupted');
    expect(await told.locator('a.monaco-button').allInnerTexts()).toEqual([
      'Land Again',
      'Send Prompt…',
      'Open Terminal',
    ]);
    const progress = window.notification(/Landing "|Interrupting the turn/);
    await expect.poll(() => progress.count()).toBe(0);
    await spoken().toMatch(/^Count the boats, needs you: conflict/);
    await row.hover();
    await row.locator('.actions .action-label[aria-label^="Land"]').waitFor();
    await app.picture(window, 'hand-back needs you');

    gate.resolve();
    resolves(world);
    await window.press(told, 'Land Again');
    await landing.waitFor();
    await window.notification(/Landed on main as \w+: "Count the boats"/).waitFor();
    await spoken().toMatch(/^Count the boats, landed/);
    expect(world.repository.read('src/app.js')).toBe(RESOLVED);
    // Told once, by who follows the landing.
    const ends = (await news()).filter((text) => !/^(Landing|Interrupting)/.test(text));
    expect(ends).toEqual([
      expect.stringMatching(/^Needs you to land: /),
      expect.stringMatching(/^Landed on main /),
    ]);
  });
});
