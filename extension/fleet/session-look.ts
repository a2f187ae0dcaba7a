import * as vscode from 'vscode';
import type { ReasonKind } from '../../sidecar/protocol/reason.ts';
import type { DisplayState, Session } from '../../sidecar/protocol/session.ts';
import { age, dollars, sleepWords, stateWords } from '../../sidecar/protocol/wording.ts';
import { tooltipText } from '../window/markdown-text.ts';
import { nameOf } from './session-name.ts';

/** How a state looks: a codicon, and a theme colour where the state stands out. */
const LOOK: Record<DisplayState, { icon: string; color?: string }> = {
  'needs-you': { icon: 'bell-dot', color: 'fairlead.needsYouForeground' },
  working: { icon: 'loading~spin', color: 'fairlead.workingForeground' },
  starting: { icon: 'loading~spin', color: 'fairlead.workingForeground' },
  resolving: { icon: 'merge', color: 'fairlead.workingForeground' },
  finished: { icon: 'check', color: 'fairlead.finishedForeground' },
  idle: { icon: 'circle-large-outline' },
  ready: { icon: 'thumbsup', color: 'fairlead.finishedForeground' },
  'in-review': { icon: 'git-pull-request', color: 'fairlead.queuedForeground' },
  queued: { icon: 'list-ordered', color: 'fairlead.queuedForeground' },
  landing: { icon: 'sync~spin', color: 'fairlead.queuedForeground' },
  landed: { icon: 'git-merge', color: 'fairlead.landedForeground' },
  sleeping: { icon: 'coffee' },
  paused: { icon: 'debug-pause' },
  archived: { icon: 'archive' },
};

/** What is asked, and what went wrong, look different from the rest that needs the person. */
const NEED_ICON: Partial<Record<ReasonKind, string>> = {
  question: 'question',
  plan: 'question',
  'api-error': 'warning',
  'agent-ended': 'warning',
  'terminal-lost': 'warning',
  'hook-failed': 'warning',
  conflict: 'warning',
  'check-failed': 'warning',
  'landing-stopped': 'warning',
  'start-failed': 'warning',
  'worktree-missing': 'warning',
  'prompt-undelivered': 'warning',
  'base-refuses-pushes': 'warning',
};

export function iconOf(session: Session): vscode.ThemeIcon {
  const { color } = LOOK[session.state];
  const icon = iconNameOf(session);
  return new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
}

function iconNameOf(session: Session): string {
  const { state, reason, outcome, facts } = session;
  if (state === 'finished' && facts.life === 'sleeping' && !isNews(session)) return LOOK.sleeping.icon;
  if (state === 'finished' && outcome === 'interrupted') return 'circle-slash';
  const special = state === 'needs-you' && reason !== null ? NEED_ICON[reason.kind] : undefined;
  return special ?? LOOK[state].icon;
}

/** Whether it has come to something that the person has not looked at. */
export function isNews({ unread, state }: Session): boolean {
  return unread && state === 'finished';
}

/** The colour of a session that is to be seen among many; none for the others. */
export function labelColorOf(session: Session): vscode.ThemeColor | undefined {
  if (session.state === 'needs-you') return new vscode.ThemeColor('fairlead.needsYouForeground');
  return undefined;
}

/**
 * What follows the title in the tree: what is asked, age and cost; the branch last, as it mostly says what the title
 * does. The attempt comes first: it tells sessions of one title apart.
 */
export function descriptionOf(session: Session, now: number): string {
  const attempt = session.attempt === null ? '' : `#${session.attempt}`;
  // Beside an icon that says what became of its work.
  return partsOf(session, now, [attempt, session.facts.life === 'sleeping' ? 'agent sleeps' : '']);
}

function partsOf(session: Session, now: number, first: readonly string[]): string {
  const parts = [...first, age(session.since, now), costOf(session), session.branch];
  if (session.reason !== null) parts.unshift(oneLine(session.reason.message));
  return parts.filter((part) => part !== '').join(' · ');
}

export function costOf({ cost }: Session): string {
  if (cost.usd === 0 && cost.unpriced === 0) return '';
  return `${dollars(cost.ownUsd)}${cost.unpriced > 0 ? '+?' : ''}`;
}

/** Everything of a session at a glance. What an agent or a repository wrote is shown as text, never as Markdown. */
export function tooltipOf(session: Session, now: number): vscode.MarkdownString {
  const text = new vscode.MarkdownString('', true);
  text.appendMarkdown(`**${tooltipText(nameOf(session))}**  \n`);
  const icon = iconNameOf(session).replace('~spin', '');
  text.appendMarkdown(`$(${icon}) ${tooltipText(`${stateWords(session)}, for ${age(session.since, now)}`)}`);
  if (sleepWords(session) !== '') text.appendMarkdown(`; ${sleepWords(session)}`);
  if (session.reason !== null) text.appendMarkdown(`\n\n${tooltipText(session.reason.message)}`);
  text.appendMarkdown('\n\n---\n\n');
  const rows: [string, string][] = [
    ['git-branch', `${session.branch}, from ${session.base}`],
    ['folder', session.worktree],
    [
      'hubot',
      [session.agent, session.model, session.mode].filter((part) => part !== null).join(', ') || 'agent',
    ],
    [
      'comment-discussion',
      `${session.turns} ${session.turns === 1 ? 'turn' : 'turns'}, started ${age(session.createdAt, now)} ago`,
    ],
    ['credit-card', costWords(session)],
  ];
  for (const [icon, value] of rows) text.appendMarkdown(`$(${icon}) ${tooltipText(value)}  \n`);
  return text;
}

function costWords({ cost: { ownUsd, usd, unpriced } }: Session): string {
  const priced =
    ownUsd === usd ? dollars(usd) : `${dollars(ownUsd)} own, ${dollars(usd)} with what it was forked from`;
  const more = unpriced === 1 ? ', 1 request without a price' : `, ${unpriced} requests without a price`;
  return unpriced === 0 ? priced : priced + more;
}

/** What a screen reader says: the state comes in words. */
export function spokenOf(session: Session, now: number): string {
  const attempt = session.attempt === null ? '' : `attempt ${session.attempt}`;
  const parts = partsOf(session, now, [attempt, sleepWords(session)]);
  const news = isNews(session) ? ', not looked at yet' : '';
  return `${session.title}, ${stateWords(session)}${news}, ${parts}`;
}

/** Characters of a reason beside the title, whose whole text the tooltip has. */
const MAX_REASON = 80;

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_REASON ? line : `${line.slice(0, MAX_REASON - 1)}…`;
}
