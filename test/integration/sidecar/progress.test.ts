import { describe, expect, it } from 'vitest';
import { Archive, ListSessions, NewSession, StopSidecar } from '../../../sidecar/protocol/protocol.ts';
import { type ProgressReport, TestClient } from '../../support/client.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

async function connect(world: World): Promise<TestClient> {
  const { fairlead } = world;
  await fairlead.json(['up']);
  return TestClient.connect(fairlead.home, { environment: fairlead.environment });
}

const messages = (reports: readonly ProgressReport[]) => reports.map(({ message }) => message);

/** What was reported never goes back, and stays within the whole. */
function expectMonotone(reports: readonly ProgressReport[]): void {
  const percentages = reports.flatMap(({ percentage }) => (percentage === undefined ? [] : [percentage]));
  expect(percentages).toEqual([...percentages].sort((a, b) => a - b));
  expect(percentages.length).toBeGreaterThan(0);
}

describe('progress', { timeout: 120_000 }, () => {
  it('tells of a session as it is made and archived, and of nothing after the answer', async () => {
    await using world = await World.open();
    world.repository.git('init', '--quiet', '--bare', `${world.repository.root}/origin.git`);
    world.repository.git('remote', 'add', 'origin', `${world.repository.root}/origin.git`);
    world.repository.git('push', '--quiet', '--set-upstream', 'origin', 'main');
    world.model.when(prompt('say hello')).says('Hello.');
    using client = await connect(world);
    const { folder } = world.repository;
    const made = await client.requestWithProgress(NewSession, { folder, prompt: 'say hello' });
    const told = [
      'Fetching main from origin',
      'Making branch and worktree',
      'Copying files',
      'Starting the agent',
    ];
    // As they were when the answer came.
    expect(messages(made.reports)).toEqual(told);
    expectMonotone(made.reports);

    await world.finished(made.answer.session.id);
    const archived = await client.requestWithProgress(Archive, { session: made.answer.session.id });
    expect(messages(archived.reports)).toEqual([
      'Looking for what is not saved',
      'Ending the agent',
      'Removing the worktree',
    ]);
    expectMonotone(archived.reports);
    await client.request(ListSessions, {});
    expect(messages(made.reports)).toEqual(told);
    expect(archived.reports).toHaveLength(3);
  });

  it('names the attempt, and counts all of them as one', async () => {
    await using world = await World.open();
    using client = await connect(world);
    const { answer, reports } = await client.requestWithProgress(NewSession, {
      folder: world.repository.folder,
      title: 'Try it',
      start: false,
      attempts: 3,
    });
    expect(answer.attempts).toHaveLength(3);
    for (const attempt of [1, 2, 3]) {
      expect(messages(reports)).toContain(`Attempt ${attempt} of 3: Making branch and worktree`);
      expect(messages(reports)).toContain(`Attempt ${attempt} of 3: Copying files`);
    }
    expect(reports).toHaveLength(6);
    expectMonotone(reports);
  });

  it('tells of agents and terminals that end with the sidecar', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello.');
    const session = await world.start('say hello');
    await world.finished(session.id);
    using client = await connect(world);
    const { reports } = await client.requestWithProgress(StopSidecar, { terminals: true });
    expect(messages(reports)).toEqual(['Ending one agent', 'Ending the terminals', 'Ending the sidecar']);
    expectMonotone(reports);
  });

  it('leaves a client alone that did not ask for it, or asked with what is no token', async () => {
    await using world = await World.open();
    using client = await connect(world);
    const { folder } = world.repository;
    const heard: unknown[] = [];
    client.onAnyProgress((value) => heard.push(value));
    const plain = await client.request(NewSession, { folder, title: 'Plain', start: false });
    const odd = { folder, title: 'Odd', start: false, workDoneToken: { not: 'a token' } };
    const second = await client.request(NewSession, odd);
    await client.request(Archive, { session: plain.session.id });
    await client.request(Archive, { session: second.session.id });
    expect(heard).toEqual([]);
    // It would have been heard.
    const unheard = { ...odd, workDoneToken: 'unheard' };
    await client.request(NewSession, unheard);
    expect(heard.length).toBeGreaterThan(0);
  });
});
