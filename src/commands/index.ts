/** All commands: group in the help, and module, which is loaded only when the command runs. In the order of the help. */
import type { CommandTable } from '../cli/plugin.ts';

export const commands: CommandTable = {
  get: { group: 'LOOK', load: () => import('./get.ts') },
  describe: { group: 'LOOK', load: () => import('./describe.ts') },
  nodes: { group: 'LOOK', load: () => import('./nodes.ts') },
  events: { group: 'LOOK', load: () => import('./events.ts') },
  view: { group: 'LOOK', load: () => import('./view.ts') },
  top: { group: 'LOOK', load: () => import('./top.ts') },
  diff: { group: 'LOOK', errorExit: 2, load: () => import('./diff.ts') },
  create: { group: 'CHANGE', load: () => import('./create.ts') },
  adopt: { group: 'CHANGE', load: () => import('./adopt.ts') },
  edit: { group: 'CHANGE', load: () => import('./edit.ts') },
  add: { group: 'CHANGE', load: () => import('./add.ts') },
  remove: { group: 'CHANGE', load: () => import('./remove.ts') },
  move: { group: 'CHANGE', load: () => import('./move.ts') },
  reconcile: { group: 'CHANGE', load: () => import('./reconcile.ts') },
  delete: { group: 'CHANGE', load: () => import('./delete.ts') },
  cordon: { group: 'MAINTAIN', load: () => import('./cordon.ts') },
  uncordon: { group: 'MAINTAIN', load: () => import('./uncordon.ts') },
  drain: { group: 'MAINTAIN', load: () => import('./drain.ts') },
  wait: { group: 'MAINTAIN', load: () => import('./wait.ts') },
  install: { group: 'SET UP', load: () => import('./install.ts') },
  uninstall: { group: 'SET UP', load: () => import('./uninstall.ts') },
  completion: { group: 'SET UP', load: () => import('./completion.ts') },
  doctor: { group: 'SET UP', load: () => import('./doctor.ts') },
  version: { group: 'SET UP', load: () => import('./version.ts') },
};
