/** Which tests a run takes, as scripts/test.ts says: `npm test` all but the slow ones, `npm run test:slow` those alone. */

/** Without the variable, as in a run of the files that somebody names, all. */
export function isChosen(slow: boolean): boolean {
  const { NODEPOOL_TESTS: chosen } = process.env;
  return chosen === undefined || chosen === (slow ? 'slow' : 'quick');
}
