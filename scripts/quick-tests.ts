/**
 * What `npm test` runs: unit tests, the command surface, and of the end-to-end and fault tests each kind of behaviour and
 * fault once, but the slow faults (an outage, compaction, a restored etcd), in at most 8 minutes on 2 cores. A new file runs in
 * `npm run test:all` alone until it is named here.
 */

/** Every command, with the output that its page shows. */
const PAGES = files(
  'e2e/page-',
  `adopt completion create delete doctor fit get history impact install login nodes reconcile rollout top view wait`,
);

/** Members and pools that overlap; what others write stays; before something is evicted or lost; the loop; terminal, pipes and files; the connection. */
const BEHAVIOUR = files(
  'e2e/',
  `reconcile reconcile-conflicts diff command-diff-files delete annotations gone-pools stale-pool
  races pool-label transient-states restored-pool protect-records hostile-tenant
  no-execute consent-nodes drain-first-cordon maintenance command-move command-drain
  rollout-canary revisions birth
  watch controller-leader interrupted reconcile-killed
  command-create command-edit command-view command-completion pipes full-device special-files odd-machines bad-input-pools
  kube-errors kube-server-time kube-transport kube-refusals kube-credentials command-login offline uninstall`,
);

const FAULTS = files('fault/', 'bad-objects conflicts crd missed-events permission response-lost silence stale-reads');

/** Paths of the project. */
export const quickFiles: readonly string[] = [...PAGES, ...BEHAVIOUR, ...FAULTS];

/** @param file its path in the project */
export function isQuick(file: string): boolean {
  return /^test\/(unit|linear|contract)\//.test(file) || quickFiles.includes(file);
}

function files(start: string, names: string): string[] {
  return names.split(/\s+/).map(name => `test/${start}${name}.test.ts`);
}
