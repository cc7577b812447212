/** The pages of the site, in the order of a reader who is new. A test compares it with the files. */

export interface Section {
  title: string;
  /** Paths from the root of the repository, with the title in the sidebar. */
  pages: Record<string, string>;
}

export const HOME = 'README.md';
/** The address of the README; the root of the site is start.md. */
export const OVERVIEW = 'overview';
export const DECISIONS = 'docs/decisions';

export const SECTIONS: readonly Section[] = [
  {
    title: 'Start',
    pages: {
      [HOME]: 'Overview, installation',
      'docs/zh/README.md': '中文',
      'docs/guide.md': 'Guide',
      'docs/concepts.md': 'Concepts',
      'docs/node-life.md': 'The life of a node',
    },
  },
  {
    title: 'Guides',
    pages: {
      'docs/in-cluster.md': 'Controller in the cluster',
      'docs/gitops.md': 'Argo CD, Flux, Helm',
      'docs/beside-others.md': 'Beside Karpenter and clouds',
      'docs/commands/login.md': 'Log in to clusters',
    },
  },
  {
    title: 'Commands',
    pages: {
      'docs/commands/get.md': 'get, describe, events',
      'docs/commands/nodes.md': 'nodes, add, remove, move',
      'docs/commands/top.md': 'top',
      'docs/commands/history.md': 'history',
      'docs/commands/report.md': 'report',
      'docs/commands/fit.md': 'fit',
      'docs/commands/view.md': 'view',
      'docs/commands/create.md': 'create, edit',
      'docs/commands/adopt.md': 'adopt',
      'docs/commands/reconcile.md': 'diff, reconcile',
      'docs/commands/impact.md': 'diff --impact',
      'docs/commands/rollout.md': 'rollout',
      'docs/commands/delete.md': 'delete',
      'docs/commands/drain.md': 'cordon, uncordon, drain',
      'docs/commands/wait.md': 'wait',
      'docs/commands/install.md': 'install, uninstall, version',
      'docs/commands/doctor.md': 'doctor',
      'docs/commands/completion.md': 'completion',
    },
  },
  {
    title: 'Reference',
    pages: {
      'docs/reference.md': 'Fields of a NodePool',
      'docs/commands/options.md': 'Options and exit codes',
      'docs/commands/output.md': 'Output formats',
      'docs/metrics.md': 'Metrics and alerts',
      'docs/permissions.md': 'Permissions',
      'docs/compatibility.md': 'Compatibility',
    },
  },
  {
    title: 'Operations',
    pages: {
      'docs/reliability.md': 'Reliability',
      'docs/scale.md': 'Large clusters',
      'docs/benchmarks.md': 'Benchmarks',
      'SECURITY.md': 'Security',
    },
  },
  {
    title: 'Project',
    pages: {
      'CHANGELOG.md': 'Changes',
      'CONTRIBUTING.md': 'Contributing',
      'docs/architecture.md': 'Architecture',
      'docs/dependencies.md': 'Dependencies',
      'docs/release.md': 'Releasing',
      'MAINTAINERS.md': 'Maintainers',
      'CODE_OF_CONDUCT.md': 'Code of conduct',
    },
  },
];
