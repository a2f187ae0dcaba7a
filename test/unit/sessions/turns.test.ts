import { describe, expect, it } from 'vitest';
import type { HookEvent } from '../../../sidecar/agents/claude/hook-event.ts';
import type { SaidPrompt } from '../../../sidecar/agents/claude/said-prompt.ts';
import type { TurnRecord } from '../../../sidecar/sessions/record.ts';
import { SessionTable } from '../../../sidecar/sessions/table.ts';
import { applyToTurns, openMissedTurn } from '../../../sidecar/sessions/turns.ts';
import { hookEvent } from '../agents/claude/timeline.ts';
import { SessionHome } from './session-home.ts';

/** Counts how often the history of a session is read. */
class CountingTable extends SessionTable {
  reads = 0;
  override turns(session: string): TurnRecord[] {
    this.reads += 1;
    return super.turns(session);
  }
}

function apply(home: SessionHome, events: readonly HookEvent[], said: readonly SaidPrompt[] = []) {
  return applyToTurns(home.table, 's', events, { arrived: new Map(), said });
}

const submit = (at: number, promptId: string, prompt = `text of ${promptId}`) =>
  hookEvent(at, 'UserPromptSubmit', { promptId, prompt });
const stop = (at: number, promptId: string, fields: Partial<HookEvent> = {}) =>
  hookEvent(at, 'Stop', { promptId, lastMessage: `answer to ${promptId}`, ...fields });

describe('the history of turns', () => {
  it('is read once for many events within a turn', () => {
    using home = new SessionHome();
    const table = new CountingTable(home.store);
    applyToTurns(table, 's', [submit(1, 'a')], { arrived: new Map(), said: [] });
    table.reads = 0;
    const tools = Array.from({ length: 20 }, (_, n) => hookEvent(n + 2, 'PreToolUse', { promptId: 'a' }));
    applyToTurns(table, 's', tools, { arrived: new Map(), said: [] });
    expect(table.reads).toBe(1);
  });

  it('is not read again for prompts of the transcript that were looked at', () => {
    using home = new SessionHome();
    const table = new CountingTable(home.store);
    const said = Array.from({ length: 20 }, (_, n) => ({ promptId: `p${n}`, text: `${n}`, at: 10_000 * n }));
    const events = said.map(({ promptId, at }) => submit(at, promptId));
    applyToTurns(table, 's', events, { arrived: new Map(), said });
    const settled = new Set<string>();
    const look = (prompts: readonly SaidPrompt[]) => {
      table.reads = 0;
      const opened = openMissedTurn(table, 's', { id: 'c', started_at: 0 }, prompts, 1_000_000, settled);
      return [opened, table.reads];
    };
    expect(look(said)).toEqual([false, 1]);
    expect(look(said)).toEqual([false, 0]);
    const missed = { promptId: 'missed', text: 'missed', at: 900_000 };
    expect(look([...said, missed])[0]).toBe(true);
    expect(home.turns.at(-1)).toEqual(['missed', 'open', null]);
  });
});

describe('turns', () => {
  const messages = (home: SessionHome) => home.table.turnMessages('s').map(({ n, text }) => [n, text]);

  it('name no conversations without end', () => {
    using home = new SessionHome();
    const starts = Array.from({ length: 210 }, (_, n) =>
      hookEvent(n, 'SessionStart', { agentSessionId: `c${n}`, source: 'clear' }),
    );
    apply(home, starts);
    expect(home.table.agentSessions('s')).toHaveLength(200);
  });

  it('keep what steers them, in order, and once', () => {
    using home = new SessionHome();
    const steer = (at: number, prompt: string) => submit(at, 'a', prompt);
    apply(home, [submit(1, 'a', 'count'), steer(2, 'count\n'), steer(3, 'backwards'), steer(4, 'backwards')]);
    apply(home, [
      steer(5, '<task-notification>done'),
      steer(6, 'and loud'),
      stop(7, 'a'),
      steer(8, 'too late'),
    ]);
    apply(home, [submit(9, 'b', 'next'), steer(10, 'far too late')]);
    expect(messages(home)).toEqual([
      [1, 'backwards'],
      [1, 'and loud'],
    ]);
    expect(home.turns.map(([prompt]) => prompt)).toEqual(['count', 'next']);
  });

  it('go on when what belongs to an earlier one comes late', () => {
    using home = new SessionHome();
    apply(home, [submit(10, 'b')]);
    expect(apply(home, [submit(5, 'a'), stop(6, 'a')])).toEqual({ opened: false, closed: false });
    expect(home.turns).toEqual([['text of b', 'open', null]]);
    apply(home, [stop(12, 'b'), stop(13, 'b'), submit(14, 'c'), stop(15, 'b'), submit(16, 'b')]);
    expect(home.turns.map(([, outcome]) => outcome)).toEqual(['done', 'open']);
  });

  it('begin with a prompt and end with Stop', () => {
    using home = new SessionHome();
    expect(apply(home, [submit(1, 'a'), stop(2, 'a'), submit(3, 'b')])).toEqual({
      opened: true,
      closed: true,
    });
    expect(home.turns).toEqual([
      ['text of a', 'done', 'answer to a'],
      ['text of b', 'open', null],
    ]);
  });

  it('are counted once when their events come twice, at once or later', () => {
    using home = new SessionHome();
    const again = (event: HookEvent, at: number): HookEvent => ({ ...event, name: `${event.name}x`, at });
    const events = [
      submit(1, 'a'),
      again(submit(1, 'a'), 2),
      stop(3, 'a'),
      again(stop(3, 'a'), 4),
      submit(5, 'b'),
    ];
    apply(home, events);
    apply(home, [again(stop(3, 'a'), 6), again(submit(1, 'a'), 7)]);
    expect(home.turns).toEqual([
      ['text of a', 'done', 'answer to a'],
      ['text of b', 'open', null],
    ]);
  });

  it('go on while background work does', () => {
    using home = new SessionHome();
    apply(home, [submit(1, 'a'), stop(2, 'a', { backgroundTasks: 1 })]);
    expect(home.turns).toEqual([['text of a', 'open', null]]);
    apply(home, [stop(9, 'woken', { lastMessage: 'All built.' })]);
    expect(home.turns).toEqual([['text of a', 'done', 'All built.']]);
  });

  it('that fail say why', () => {
    using home = new SessionHome();
    apply(home, [submit(1, 'a'), hookEvent(2, 'StopFailure', { promptId: 'a', error: 'overloaded' })]);
    expect(home.turns).toEqual([['text of a', 'failed', 'overloaded']]);
  });

  it('are not begun or ended by subagents', () => {
    using home = new SessionHome();
    apply(home, [
      submit(1, 'a'),
      stop(2, 'a', { agentId: 'sub' }),
      hookEvent(3, 'PreToolUse', { agentId: 'sub', promptId: 'z' }),
    ]);
    expect(home.turns).toEqual([['text of a', 'open', null]]);
  });

  it('that are open end where another conversation begins, but not with compaction', () => {
    using home = new SessionHome();
    apply(home, [submit(1, 'a'), hookEvent(2, 'SessionStart', { source: 'compact' })]);
    expect(home.turns).toEqual([['text of a', 'open', null]]);
    apply(home, [hookEvent(3, 'SessionStart', { source: 'clear', agentSessionId: 'two' })]);
    expect(home.turns).toEqual([['text of a', 'interrupted', null]]);
    expect(home.table.agentSessions('s').map(({ id }) => id)).toEqual(['one', 'two']);
  });

  it('note a conversation at a time that is no whole millisecond', () => {
    using home = new SessionHome();
    apply(home, [hookEvent(1.25, 'SessionStart', { source: 'startup' })]);
    expect(home.table.agentSessions('s')).toMatchObject([{ id: 'one', started_at: 1 }]);
  });

  it('whose beginning was lost are known by what happens in them', () => {
    using home = new SessionHome();
    apply(home, [stop(2, 'a')], [{ promptId: 'a', text: 'what was asked', at: 1 }]);
    expect(home.turns).toEqual([['what was asked', 'done', 'answer to a']]);
    apply(home, [hookEvent(3, 'PostToolUse', { promptId: 'b' })]);
    expect(home.turns).toHaveLength(1);
  });

  it('whose end was lost end with the next prompt', () => {
    using home = new SessionHome();
    apply(home, [submit(1, 'a'), submit(5, 'b')]);
    expect(home.turns).toEqual([
      ['text of a', 'done', null],
      ['text of b', 'open', null],
    ]);
  });
});

describe('a turn that no hook told of', () => {
  const conversation = { id: 'one', started_at: 1_000 };
  const said = (promptId: string, at: number): SaidPrompt => ({ promptId, text: `text of ${promptId}`, at });

  it('is opened from the transcript once its hook is overdue', () => {
    using home = new SessionHome();
    apply(home, [submit(2_000, 'a'), stop(3_000, 'a')]);
    const prompts = [said('a', 2_000), said('b', 10_000)];
    expect(openMissedTurn(home.table, 's', conversation, prompts, 11_000)).toBe(false);
    expect(openMissedTurn(home.table, 's', conversation, prompts, 15_000)).toBe(true);
    expect(openMissedTurn(home.table, 's', conversation, prompts, 15_000)).toBe(false);
    expect(home.turns.at(-1)).toEqual(['text of b', 'open', null]);
    apply(home, [submit(15_500, 'b'), stop(16_000, 'b')]);
    expect(home.turns).toHaveLength(2);
    expect(home.turns.at(-1)?.[1]).toBe('done');
  });

  it('is opened however soon after the one before it came', () => {
    using home = new SessionHome();
    apply(home, [submit(2_000, 'a'), stop(2_100, 'a')]);
    const prompts = [said('a', 2_000), said('b', 2_200)];
    expect(openMissedTurn(home.table, 's', conversation, prompts, 60_000)).toBe(true);
    expect(home.turns).toHaveLength(2);
  });

  it('is not made of what was copied along, or of turns that hooks told without an id', () => {
    using home = new SessionHome();
    apply(home, [hookEvent(9_500, 'UserPromptSubmit', { prompt: 'text of b' })]);
    const prompts = [said('of before', 500), said('b', 9_000)];
    expect(openMissedTurn(home.table, 's', conversation, prompts, 60_000)).toBe(false);
    expect(home.turns).toHaveLength(1);
  });
});
