import { ADD_LONGEST, USAGE } from '../../test/support/harbour-library.ts';
import type { Conversation } from '../../test/support/model/conversation.ts';
import type { ScriptedModel } from '../../test/support/model/scripted-model.ts';
import { anyPrompt, prompt } from '../../test/support/model/story.ts';
import { TASKS } from './tasks.ts';

/** The model's part in the demo; everything else is real. */
export default function tell(model: ScriptedModel): void {
  model
    .when(prompt(TASKS.longest))
    .says('I look at the class first.')
    .callsTool('Read', ({ cwd }) => ({ file_path: `${cwd}/src/harbour.js` }))
    .usage({ input: 1_200, output: 60, cacheWrite5m: 14_000 })
    .thenCallsTool('Edit', ({ cwd }) => ({
      file_path: `${cwd}/src/harbour.js`,
      ...ADD_LONGEST,
    }))
    .usage({ input: 300, output: 240, cacheRead: 14_000 })
    .after(800)
    .thenSays('longest() is there. I left it uncommitted for you to look at.')
    .usage({ input: 200, output: 40, cacheRead: 15_000 });

  model
    .when(prompt(TASKS.readme))
    .says('I write the section and commit it.')
    .callsTool('Bash', () => ({
      command: `cat >> README.md <<'END'\n${USAGE}END\ngit add README.md && git commit --quiet --message='Show how to use it'`,
      description: 'Add the usage section and commit it',
    }))
    .usage({ input: 1_100, output: 180, cacheWrite5m: 14_000 })
    .after(1_200)
    .thenSays('The usage section is committed.')
    .usage({ input: 250, output: 30, cacheRead: 14_500 });

  model
    .when(prompt(TASKS.changelog))
    .says('A changelog it is.')
    .callsTool('Write', ({ cwd }) => ({
      file_path: `${cwd}/CHANGELOG.md`,
      content: '# Changelog\n\n## 1.0.0\n\n- Counts the boats in a harbour\n',
    }))
    .usage({ input: 1_000, output: 90, cacheWrite5m: 14_000 })
    .after(500)
    .thenSays('CHANGELOG.md starts with 1.0.0.')
    .usage({ input: 200, output: 25, cacheRead: 14_200 });

  // What the merge queue asks of an agent: a note would not help it.
  model
    .when(prompt(/conflicts with what has landed there meanwhile|^The conflict with .* is not resolved yet/))
    .says(`I am the scripted model of the demo, and cannot resolve a conflict. ${REAL}`);

  model
    .when(anyPrompt())
    .says(
      'I am the scripted model of the demo and cannot do this. I write it down instead, so that there is something to land.',
    )
    .callsTool('Write', (conversation) => ({
      file_path: `${conversation.cwd}/${noteFor(conversation)}`,
      content: `# A note of the demo\n\n${conversation.prompts.at(-1)?.trim()}\n`,
    }))
    .usage({ input: 900, output: 80, cacheWrite5m: 14_000 })
    .after(500)
    .thenSays(`These are the prompts that I carry out:\n\n${KNOWN}\n\n${REAL}`)
    .usage({ input: 200, output: 90, cacheRead: 14_200 });
}

const REAL = 'For a real one, run `npm start -- --real`: it plays with your own claude.';
const KNOWN = Object.values(TASKS)
  .map((task) => `- ${task}`)
  .join('\n');

/** A file of its own for each session and prompt: notes do not stand in one another's way as they land. */
function noteFor({ prompts, sessionId = '' }: Conversation): string {
  const words = (prompts.at(-1) ?? '').toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return `notes/${[...words.slice(0, 5), sessionId.slice(0, 4)].join('-').slice(-60)}.md`;
}
