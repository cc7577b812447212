/**
 * What `npm test` runs: unit tests, the command surface, and of the end-to-end and fault tests each kind of behaviour and
 * fault once, in at most 8 minutes on 2 cores. A new file runs in `npm run test:all` alone until it is named here.
 */
const END_TO_END = [
  // Every command, with the output that its page shows.
  ...['adopt', 'completion', 'create', 'delete', 'doctor', 'fit', 'get', 'history', 'impact', 'install'],
  ...['login', 'nodes', 'reconcile', 'rollout', 'top', 'view', 'wait'],
].map(page => `page-${page}`);

const BEHAVIOUR = [
  // Labels, taints, RuntimeClass and status of members, of nodes that leave, and of pools that overlap.
  ...[
    'reconcile',
    'reconcile-conflicts',
    'reconcile-chains',
    'diff',
    'delete',
    'annotations',
    'gone-pools',
    'stale-pool',
  ],
  // What others write stays.
  ...['races', 'pool-label', 'transient-states', 'restored-pool', 'protect-records', 'hostile-tenant'],
  // Before something is evicted or lost.
  ...[
    'no-execute',
    'consent-nodes',
    'consent-pools',
    'drain-first-cordon',
    'drain-turn',
    'maintenance',
    'command-move',
    'command-drain',
  ],
  ...['rollout-canary', 'startup-taints', 'birth'],
  // The loop.
  ...['watch', 'controller-leader', 'interrupted', 'reconcile-killed'],
  // The terminal, pipes and files.
  ...['command-create', 'command-edit', 'command-view', 'command-completion', 'pipes', 'full-device', 'special-files'],
  // The connection.
  ...['kube-errors', 'kube-refusals', 'kube-credentials', 'command-login', 'offline', 'uninstall'],
];

const FAULTS = [
  'bad-objects',
  'conflicts',
  'crd',
  'errors',
  'gone',
  'permission',
  'response-lost',
  'retry-after',
  'stale-reads',
];

const QUICK = new Set([
  ...[...END_TO_END, ...BEHAVIOUR].map(name => `test/e2e/${name}.test.ts`),
  ...FAULTS.map(name => `test/fault/${name}.test.ts`),
]);

/** @param file its path in the project */
export function isQuick(file: string): boolean {
  return QUICK.has(file) || /^test\/(unit|linear|contract)\//.test(file);
}

/** Paths that are named here and may be gone. */
export const quickFiles: readonly string[] = [...QUICK];
