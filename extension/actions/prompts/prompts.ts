import * as vscode from 'vscode';
import type { Plan } from '../new-session/plan.ts';
import { Drafts } from './drafts.ts';
import { PromptEditors } from './prompt-editors.ts';

/** Everything that the person has written for agents in this workspace and not sent. */
export class Prompts {
  /** Of sessions that are to be, by the folder. */
  readonly plans: Drafts<Plan>;
  /** For sessions that are there, by their id. */
  readonly followUps: Drafts;
  /** Answers in the person's own words, by the session's id, a space, and what is answered. */
  readonly answers: Drafts;
  readonly editors: PromptEditors;
  /** What was chosen for the prompts that are written in editors, by the URI of these. */
  readonly planOfEditor = new Map<string, Plan>();
  /** The need that the text of an editor answers, by the URI. */
  readonly needOfEditor = new Map<string, number>();

  /**
   * @param storage of the extension on this machine
   * @param state of the workspace
   */
  constructor(storage: vscode.Uri, state: Pick<vscode.Memento, 'get' | 'update'>) {
    this.plans = new Drafts(state, 'drafts.plans');
    this.followUps = new Drafts(state, 'drafts.followUps');
    this.answers = new Drafts(state, 'drafts.answers');
    this.editors = new PromptEditors(vscode.Uri.joinPath(storage, 'prompts'));
  }
}
