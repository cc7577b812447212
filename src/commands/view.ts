import { BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { showView } from '../cli/show-view.ts';
import { NodepoolError } from '../nodepool/errors.ts';

export default class View extends BaseCommand<typeof View> {
  static override summary = 'Watch pools, nodes and events on a full screen, live.';
  static override description =
    'A list of pools, with bars of their nodes; enter goes into a pool, a node, an event. Reads only, but for c and u: they cordon and uncordon the selected node, after asking. ? shows the keys.';
  static override examples = [{ description: 'All pools', command: '<%= config.bin %> view' }];

  protected async execute(flags: FlagsOf<typeof View>, _args: object, deps: Deps): Promise<number> {
    const { stdinIsTTY, stdoutIsTTY, env } = deps.io;
    if (!stdinIsTTY || !stdoutIsTTY || env.TERM === 'dumb') {
      throw new NodepoolError('usage', 'view needs a terminal', 'use `kubectl nodepool get --watch` without one');
    }
    return showView(flags.verbosity, deps);
  }
}
