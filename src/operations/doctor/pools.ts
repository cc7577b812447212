/** The status of the pools, and what is wrong with their specs. */

import { plural } from '../../nodepool/plural.ts';
import { STATUS_WORDS, troubleIn } from '../../nodepool/status.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/takeover.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { validatePool } from '../../nodepool/validation.ts';
import { error, type Finding, ok, warning } from './check.ts';

const RECONCILE = 'run `kubectl nodepool reconcile`';

/** Pools that are not 200 are errors; those that were not reconciled lately are warnings. */
export function checkPools(pools: NodePool[]): Finding {
  if (pools.length === 0) return ok('there are no pools');
  const failing = pools.filter(({ status }) => status?.status !== undefined && status.status !== 200);
  const late = pools.flatMap(pool => lateness(pool) ?? []);
  const details = [...failing.map(whyNot200), ...late];
  if (failing.length > 0) {
    return error(
      `${failing.length} of ${plural(pools.length, 'pool')} ${failing.length === 1 ? 'is' : 'are'} not 200`,
      'see more with `kubectl nodepool describe POOL`, and mend what it says',
      details,
    );
  }
  if (late.length > 0)
    return warning(
      `${late.length} of ${plural(pools.length, 'pool')} ${late.length === 1 ? 'is' : 'are'} not up to date`,
      RECONCILE,
      details,
    );
  return ok(pools.length === 1 ? 'the one pool is 200' : `the ${pools.length} pools are all 200`);
}

export function checkSpecs(pools: NodePool[]): Finding {
  const details = pools.flatMap(pool =>
    validatePool(pool).map(({ field, message }) => `${pool.metadata.name}: ${field}: ${message}`),
  );
  if (details.length === 0) return ok('every spec is valid');
  return error(
    'specs are invalid: such a pool keeps its nodes as they are and gets no new ones',
    'correct them with `kubectl nodepool edit POOL`',
    details,
  );
}

function whyNot200({ metadata, status }: NodePool): string {
  const number = status?.status ?? 0;
  const { message = '' } = troubleIn(status) ?? {};
  return `${metadata.name}: ${number} ${STATUS_WORDS[number] ?? ''}`.trimEnd() + (message === '' ? '' : `: ${message}`);
}

function lateness(pool: NodePool): string | undefined {
  const { metadata, status } = pool;
  const { name, generation, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return `${name}: being deleted since ${deletionTimestamp}`;
  // A status of another writer may be without the number.
  if (status?.status === undefined) return `${name}: never reconciled`;
  const { observedGeneration } = status;
  if (hasLostFields(pool)) return `${name}: ${LOST_FIELDS}: ${MEND_LOST_FIELDS}`;
  if (observedGeneration === undefined) return `${name}: not reconciled by this program yet`;
  return observedGeneration === generation ? undefined : `${name}: its spec changed after it was reconciled`;
}
