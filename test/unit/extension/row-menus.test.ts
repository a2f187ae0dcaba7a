import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../extension/commands.ts';
import { contextOf } from '../../../extension/fleet/fleet-tree.ts';
import { ReasonKind } from '../../../sidecar/protocol/reason.ts';
import { AgentFact, DisplayState, LifeFact, type Session } from '../../../sidecar/protocol/session.ts';
import * as z from '../../../sidecar/protocol/zod.ts';
import { sessionOf } from './support/sessions.ts';

const text = readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8');
const Item = z.object({ command: z.string(), when: z.string(), group: z.string() });
const menu = z
  .object({ contributes: z.object({ menus: z.object({ 'view/item/context': z.array(Item) }) }) })
  .parse(JSON.parse(text)).contributes.menus['view/item/context'];

/** Whether the clause holds for a row. Of its language the manifest uses these parts alone. */
function holds(when: string, viewItem: string): boolean {
  return when.split(' && ').every((part) => {
    if (part === 'view == fairlead.fleet') return true;
    const [, not, pattern] = /^(!\()?viewItem =~ \/(.+)\/\)?$/.exec(part) ?? [];
    if (pattern === undefined) throw new Error(`not understood: ${part}`);
    return new RegExp(pattern).test(viewItem) === (not === undefined);
  });
}

/** The commands that a row offers: beside its title, or in its menu. */
function offered(where: 'inline' | 'menu', session: Partial<Session>): string[] {
  const viewItem = contextOf(sessionOf({ id: 'one', ...session }));
  return menu
    .filter(({ group }) => group.startsWith('inline') === (where === 'inline'))
    .filter(({ when }) => holds(when, viewItem))
    .map(({ command }) => command.replace('fairlead.', ''));
}

const everyLife = LifeFact.options;
const facts = (life: LifeFact) => ({ agent: 'idle', landing: 'none', life }) as const;

/** Sessions in every state, with every need, in the queue and out of it. */
function* everySession(): Generator<Session> {
  for (const state of DisplayState.options) {
    for (const life of everyLife) {
      for (const agent of AgentFact.options) {
        for (const queue of [null, 'q1']) {
          const needed = state === 'needs-you' ? ReasonKind.options : [null];
          for (const kind of needed) {
            const reason = kind === null ? null : { kind, message: 'Something.' };
            const common = { id: 'one', state, queue, reason, need: kind === null ? null : 1 };
            yield sessionOf({ ...common, facts: { agent, landing: 'none', life } });
          }
        }
      }
    }
  }
}

describe('the menus of a row', () => {
  it('offer what the palette offers for the session, in every state', () => {
    const commands = Object.entries(COMMANDS).flatMap(([id, command]) =>
      command.kind === 'session' ? [[id.replace('fairlead.', ''), command.fits] as const] : [],
    );
    for (const session of everySession()) {
      const fitting = commands.filter(([, fits]) => fits(session)).map(([name]) => name);
      expect([session, offered('menu', session).sort()]).toEqual([session, fitting.sort()]);
    }
  });

  it('offer to land again what waits for the person in the queue, beside the title', () => {
    const reason = { kind: 'conflict', message: 'It conflicts.' } as const;
    const heldUp = { state: 'needs-you', need: 1, reason, queue: 'q1' } as const;
    expect(offered('inline', heldUp)).toEqual(['openChanges', 'land', 'unqueue']);
    expect(offered('menu', heldUp)).toContain('land');
    expect(offered('menu', heldUp)).not.toContain('landTo');
    expect(offered('menu', heldUp)).not.toContain('interrupt');
  });

  it('offer to interrupt the agent that resolves a conflict', () => {
    const facts = { agent: 'working', landing: 'resolving', life: 'active' } as const;
    expect(offered('menu', { state: 'resolving', queue: 'q1', facts })).toContain('interrupt');
  });

  it('offer Land beside the title of what can land, whether or not its agent sleeps', () => {
    for (const state of DisplayState.options) {
      const canLand = ['finished', 'idle', 'sleeping', 'ready'].includes(state);
      for (const life of everyLife) {
        expect([state, life, offered('inline', { state, facts: facts(life) }).includes('land')]).toEqual([
          state,
          life,
          canLand,
        ]);
      }
    }
  });

  it('offer to stop an agent that runs, to start one again that sleeps, and to interrupt a turn', () => {
    for (const life of everyLife) {
      const stop = offered('menu', { state: 'landed', facts: facts(life) }).includes('stop');
      expect([life, stop]).toEqual([life, life === 'active' || life === 'starting']);
      const resume = offered('menu', { state: 'landed', facts: facts(life) }).includes('resume');
      expect([life, resume]).toEqual([life, life === 'sleeping']);
    }
    const working = { agent: 'working', landing: 'none', life: 'active' } as const;
    expect(offered('menu', { state: 'working', facts: working })).toContain('interrupt');
    expect(offered('menu', { state: 'finished' })).not.toContain('interrupt');
  });

  it('offer what answers a question, in the menu as well, which a keyboard can open', () => {
    const asks = { state: 'needs-you', need: 1, reason: { kind: 'permission', message: 'May I?' } } as const;
    expect(offered('inline', asks)).toEqual(['allow', 'deny', 'openChanges']);
    expect(offered('menu', asks)).toEqual(expect.arrayContaining(['allow', 'deny', 'answer']));
    const other = offered('menu', { state: 'idle' });
    expect(other.filter((command) => ['allow', 'deny', 'answer'].includes(command))).toEqual([]);
  });

  it('offer either to land or to leave the queue', () => {
    expect(offered('menu', { state: 'queued', queue: 'q1' })).toContain('unqueue');
    const inQueue = offered('menu', { state: 'queued', queue: 'q1' });
    expect(inQueue).not.toContain('land');
    expect(inQueue).not.toContain('landTo');
    expect(offered('menu', { state: 'finished' })).toContain('landTo');
    expect(offered('menu', { state: 'finished' })).not.toContain('unqueue');
  });
});
