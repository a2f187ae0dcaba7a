import type { Environment } from '../platform/environment.ts';

/**
 * Ends the process as `kill -9` would at the named point, when `FAIRLEAD_FAULT` names it: `swapped`, or `swapped#3`
 * for the third time that it is passed. For fault tests; without the variable it does nothing.
 * @param end what ends here, when that is not the process
 */
export function faultPoint(
  environment: Environment,
  end: () => void = () => process.kill(process.pid, 'SIGKILL'),
): (name: string) => void {
  const [wanted, count = '1'] = (environment.FAIRLEAD_FAULT ?? '').split('#');
  if (!wanted) return () => {};
  let left = Number(count);
  return (name) => {
    if (name !== wanted) return;
    left -= 1;
    if (left === 0) end();
  };
}
