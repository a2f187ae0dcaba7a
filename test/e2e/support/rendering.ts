import type { Page } from 'playwright-core';

/** How a window draws: how often, and whether what it draws can be read. */
export class Rendering {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** How many frames the window draws until `during` is over, and the longest time between two, in milliseconds. */
  async framesDuring(during: () => Promise<void>): Promise<{ count: number; longest: number }> {
    await this.#page.evaluate(`{
      const frames = { count: 0, longest: 0, last: performance.now(), on: true };
      globalThis.fairleadFrames = frames;
      const frame = (now) => {
        frames.count += 1;
        frames.longest = Math.max(frames.longest, now - frames.last);
        frames.last = now;
        if (frames.on) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }`);
    await during();
    return this.#page.evaluate('globalThis.fairleadFrames.on = false, globalThis.fairleadFrames');
  }

  /**
   * How much each text of a row, and the item in the status bar, stands out from what is behind it: 1 to 21, as WCAG
   * 2.2 defines it.
   */
  async contrasts(): Promise<{ text: string; contrast: number }[]> {
    return this.#page.evaluate(`(() => {
      const channels = (color) => {
        const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\\d.]+/g) ?? []).map(Number);
        return color.startsWith('color(srgb') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
      };
      const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
      const luminance = (color) => {
        const [r, g, b] = color.map((each) => {
          const part = each / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        const layers = [];
        for (let each = element; each !== null; each = each.parentElement) {
          layers.push(channels(getComputedStyle(each).backgroundColor));
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
      };
      const texts = document.querySelectorAll(
        '.customview-tree .label-name, .customview-tree .label-description, [id^="fairlead.fairlead"] a',
      );
      return [...texts].filter((each) => each.textContent.trim() !== '').map((each) => {
        const ground = behind(each);
        const style = getComputedStyle(each);
        const [r, g, b, a] = channels(style.color);
        let opacity = a;
        for (let up = each; up !== null; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
        const [light, dark] = [luminance(over([r, g, b, opacity], ground)), luminance(ground)].sort((x, y) => y - x);
        return {
          text: each.textContent.trim(),
          contrast: Math.round(((light + 0.05) / (dark + 0.05)) * 10) / 10,
        };
      });
    })()`);
  }
}
