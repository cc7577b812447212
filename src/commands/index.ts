/** Every verb: where it stands in the help, and its module, loaded only when it runs. The order here is the help's. */
import type { VerbTable } from '../cli/plugin.ts';

export const verbs: VerbTable = {
  get: { group: 'LOOK', load: () => import('./get.ts') },
  describe: { group: 'LOOK', load: () => import('./describe.ts') },
  events: { group: 'LOOK', load: () => import('./events.ts') },
  top: { group: 'LOOK', load: () => import('./top.ts') },
  diff: { group: 'LOOK', errorExit: 2, load: () => import('./diff.ts') },
  create: { group: 'CHANGE', load: () => import('./create.ts') },
  edit: { group: 'CHANGE', load: () => import('./edit.ts') },
  reconcile: { group: 'CHANGE', load: () => import('./reconcile.ts') },
  delete: { group: 'CHANGE', load: () => import('./delete.ts') },
  install: { group: 'SET UP', load: () => import('./install.ts') },
  uninstall: { group: 'SET UP', load: () => import('./uninstall.ts') },
  version: { group: 'SET UP', load: () => import('./version.ts') },
};
