/** promtool, and the alerts and queries that the chart has for Prometheus. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';

export const PROMTOOL_BINARIES = ['promtool'] as const;
export const ALERTS = join(ROOT, 'charts/kubectl-nodepool/files/alerts.yaml');
export const DASHBOARD = join(ROOT, 'charts/kubectl-nodepool/files/dashboard.json');

/** Runs it; fails unless it exits with 0. */
export async function promtool(args: readonly string[], stdin = ''): Promise<void> {
  const { promtool } = await ensureBinaries(PROMTOOL_BINARIES);
  const { code, stdout, stderr } = await run(promtool, args, { stdin });
  assert.equal(code, 0, stdout + stderr);
}
