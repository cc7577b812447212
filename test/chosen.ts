/** Which tests a run includes, set by scripts/test.ts: `npm test` all but the slow ones, `npm run test:slow` only those. */

/** Without the variable, as in a run of named files, all. */
export function isChosen(slow: boolean): boolean {
  const { NODEPOOL_TESTS: chosen } = process.env;
  return chosen === undefined || chosen === (slow ? 'slow' : 'quick');
}
