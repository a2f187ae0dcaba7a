import { expect, it } from 'vitest';
import { shortNames } from '../../../sidecar/cli/short-names.ts';

it('a path is named by as little of its end as tells it from the others', () => {
  const named = (...paths: string[]) => [...shortNames(paths).values()];
  expect(named('/home/ada/app', '/home/ada/site', '/home/ada/app')).toEqual(['app', 'site']);
  expect(named('/home/ada/work/app', '/home/ada/play/app', '/srv/site')).toEqual([
    'work/app',
    'play/app',
    'site',
  ]);
  expect(named('/app', '/home/app')).toEqual(['/app', '/home/app']);
  expect(named('/')).toEqual(['/']);
});
