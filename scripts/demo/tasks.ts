/** What the three sessions of the demo are asked. */
export const TASKS = {
  longest: 'Add a method longest() to src/harbour.js that returns the name of the longest boat.',
  readme: 'Write a usage section for README.md and commit it.',
  changelog: 'Start a CHANGELOG.md with version 1.0.0.',
} as const;
