import * as vscode from 'vscode';
import type { DisplayState, Session } from '../../sidecar/protocol/session.ts';
import { age, dollars, stateWords } from '../../sidecar/protocol/wording.ts';
import { markdownText } from '../markdown-text.ts';

/** How a state looks: a codicon, and a theme colour where the state stands out. */
const LOOK: Record<DisplayState, { icon: string; color?: string }> = {
  'needs-you': { icon: 'bell-dot', color: 'fairlead.needsYouForeground' },
  working: { icon: 'loading~spin', color: 'fairlead.workingForeground' },
  starting: { icon: 'loading~spin', color: 'fairlead.workingForeground' },
  resolving: { icon: 'git-merge', color: 'fairlead.workingForeground' },
  finished: { icon: 'check', color: 'fairlead.finishedForeground' },
  idle: { icon: 'circle-large-outline' },
  ready: { icon: 'thumbsup', color: 'fairlead.finishedForeground' },
  'in-review': { icon: 'git-pull-request', color: 'fairlead.queuedForeground' },
  queued: { icon: 'list-ordered', color: 'fairlead.queuedForeground' },
  landing: { icon: 'sync~spin', color: 'fairlead.queuedForeground' },
  landed: { icon: 'git-merge', color: 'fairlead.landedForeground' },
  sleeping: { icon: 'moon' },
  paused: { icon: 'debug-pause' },
  archived: { icon: 'archive' },
};

export function iconOf(session: Session): vscode.ThemeIcon {
  const { icon, color } = LOOK[session.state];
  return new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
}

/** The colour of a session that is to be seen among many; none for the others. */
export function labelColorOf(session: Session): vscode.ThemeColor | undefined {
  if (session.state === 'needs-you') return new vscode.ThemeColor('fairlead.needsYouForeground');
  return undefined;
}

/**
 * What follows the title in the tree: what is asked, age and cost; the branch last, as it mostly says what the title
 * does. `attempt` comes first: it tells sessions of one title apart.
 */
export function descriptionOf(session: Session, now: number, attempt: string): string {
  const parts = [attempt, age(session.since, now), costOf(session), session.branch];
  if (session.reason !== null) parts.unshift(oneLine(session.reason.message));
  return parts.filter((part) => part !== '').join(' · ');
}

/** Which of the attempts of one family a session is: by the number that its branch has behind that of the first. */
export function attemptOf(session: Session, first: Session): string {
  if (session.id === first.id) return 'attempt 1';
  const number = /-(\d+)$/.exec(session.branch)?.[1];
  return number === undefined || session.branch !== `${first.branch}-${number}` ? '' : `attempt ${number}`;
}

export function costOf({ cost }: Session): string {
  if (cost.usd === 0 && cost.unpriced === 0) return '';
  return `${dollars(cost.ownUsd)}${cost.unpriced > 0 ? '+?' : ''}`;
}

/** Everything of a session at a glance. What an agent or a repository wrote is shown as text, never as Markdown. */
export function tooltipOf(session: Session, now: number): vscode.MarkdownString {
  const text = new vscode.MarkdownString('', true);
  text.appendMarkdown(`**${markdownText(session.title)}**  \n`);
  const icon = LOOK[session.state].icon.replace('~spin', '');
  text.appendMarkdown(`$(${icon}) ${markdownText(`${stateWords(session)}, for ${age(session.since, now)}`)}`);
  if (session.reason !== null) text.appendMarkdown(`\n\n${markdownText(session.reason.message)}`);
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
    [
      'credit-card',
      `${dollars(session.cost.ownUsd)} own, ${dollars(session.cost.usd)} in all` +
        (session.cost.unpriced > 0 ? `, ${session.cost.unpriced} requests unpriced` : ''),
    ],
  ];
  for (const [icon, value] of rows) text.appendMarkdown(`$(${icon}) ${markdownText(value)}  \n`);
  return text;
}

/** What a screen reader says: the state comes in words. */
export function spokenOf(session: Session, now: number, attempt: string): string {
  return `${session.title}, ${stateWords(session)}, ${descriptionOf(session, now, attempt)}`;
}

/** Characters of a reason beside the title, whose whole text the tooltip has. */
const MAX_REASON = 80;

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_REASON ? line : `${line.slice(0, MAX_REASON - 1)}…`;
}
