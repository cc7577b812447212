/** A row of the table of faults: a test with the row's name that records its result for docs/reliability.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

/** Set by scripts/test.ts. */
const IS_QUICK_RUN = process.env.NODEPOOL_TESTS === 'quick';

export interface Row {
  /** The kind of fault; several rows may share it. */
  fault: string;
  /** How the fault is made, in a few words. */
  how: string;
  /** What must hold. */
  holds: string;
  /** Milliseconds for the test. Default 240,000. */
  timeout?: number;
  /** `npm test` leaves it to `npm run test:all`: a quicker row tries the same kind of fault. */
  slow?: boolean;
}

/** Measured numbers by name: `kills`, `relists`. */
export type Facts = Record<string, number | string>;

export interface RowResult extends Omit<Row, 'slow'> {
  passed: boolean;
  seconds: number;
  facts: Facts;
}

/** Runs as a test; what it puts into `facts` is recorded. With FAULT_RESULTS set, one JSON file a row goes into that folder. */
export function row(
  { timeout = 240_000, slow = false, ...row }: Row,
  body: (t: TestContext, facts: Facts) => Promise<void>,
): void {
  if (slow && IS_QUICK_RUN) return;
  test(`${row.fault}: ${row.how}`, { timeout }, async t => {
    const [facts, start]: [Facts, number] = [{}, performance.now()];
    let passed = false;
    // Here and not after the body, which does not end when the test times out.
    t.after(() => record({ ...row, passed, seconds: Math.round((performance.now() - start) / 100) / 10, facts }));
    await body(t, facts);
    passed = true;
    if (Object.keys(facts).length > 0)
      t.diagnostic(
        Object.entries(facts)
          .map(pair => pair.join('='))
          .join(' '),
      );
  });
}

function record(result: RowResult): void {
  const folder = process.env.FAULT_RESULTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const name = `${result.fault} ${result.how}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 200);
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(result, null, 2));
}
