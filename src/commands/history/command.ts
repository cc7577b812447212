import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { parseDuration } from '../../cli/duration.ts';
import { EXIT, showNote, showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { byNodeFlag, noHeadersFlag, poolName, withoutKind } from '../../cli/flags.ts';
import { terminalWidth } from '../../cli/io.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { plural } from '../../nodepool/text.ts';
import type { Timeline, TimelineSubject } from './run.ts';

const LIMITS =
  'Not shown: expired Events (1 h by default), all but the last write of each field manager, and who removed labels or annotations.';

export default class HistoryCommand extends BaseCommand<typeof HistoryCommand> {
  static override summary = 'Show who changed a pool or a node, and when.';
  static override description =
    'Prints one timeline, oldest first: Events, managedFields of the pool and its nodes, conditions, and revisions of the pool. A change that several sources report is one line. WHO is a field manager such as kubectl-label, or the controller that reported an Event. Drift without a time comes last. If a pool and a node have the same name, NAME means the pool; use node/NAME for the node.';
  static override examples = [
    { description: 'A pool: joins, leaves, drift, changes of its spec', command: '<%= config.bin %> history worker' },
    { description: 'A node', command: '<%= config.bin %> history node-1' },
    {
      description: 'A node with the same name as a pool, with times and sources',
      command: '<%= config.bin %> history node/node-1 -o wide',
    },
    {
      description: 'The last ten lines of the last hour',
      command: '<%= config.bin %> history worker --since 1h --limit 10',
    },
    { description: 'For a script', command: '<%= config.bin %> history worker -o json' },
  ];
  static override args = {
    name: Args.string({
      ignoreStdin: true,
      required: true,
      description: 'Name of a pool or node, also as pool/NAME or node/NAME.',
    }),
  };
  static override flags = {
    since: Flags.string({ summary: 'Only changes of the last 30m, 2h, ….', helpValue: 'TIME' }),
    limit: Flags.integer({ summary: 'Only the last N lines.', helpValue: 'N', min: 1 }),
    'by-node': byNodeFlag,
    output: Flags.option({
      options: ['wide', 'json', 'yaml', 'csv'] as const,
      char: 'o',
      summary: 'Output format; wide has times and sources.',
      helpValue: 'wide|json|yaml|csv',
    })(),
    'no-headers': noHeadersFlag,
  };

  protected async execute(
    { since, limit, output, 'by-node': byNode, 'no-headers': noHeaders }: FlagsOf<typeof HistoryCommand>,
    args: ArgsOf<typeof HistoryCommand>,
    { io, connect }: Deps,
  ): Promise<number> {
    const subject = await subjectOf(args.name);
    const sinceMs = since === undefined ? undefined : parseDuration(since, '--since');
    const { readTimeline } = await import('./run.ts');
    const { filterEntries, joinNodes, lastEntries } = await import('./entries.ts');
    const found = await readTimeline(subject, await connect());
    const now = io.serverNow();
    const recent = filterEntries(found.entries, { sinceMs, now });
    const isTable = output === undefined || output === 'wide';
    const entries = lastEntries(isTable && !byNode ? joinNodes(recent) : recent, limit);
    for (const { oneLine, next } of found.forbidden) showWarning(io, { message: `left out: ${oneLine}`, next });
    const render = await import('./print.ts');
    if (output === 'csv') io.out(render.timelineCsv(entries, !noHeaders));
    else if (output === 'json' || output === 'yaml') io.out(render.printTimeline(found, entries, output));
    else if (entries.length === 0) io.err('No history found.');
    else {
      const { makeStyle } = await import('../../print/style.ts');
      const wide = output === 'wide';
      const table = { wide, headers: !noHeaders, terminalWidth: wide ? undefined : terminalWidth(io) };
      const { timelinePrinter } = await import('../shared/describe/print-timeline.ts');
      io.out(timelinePrinter(found.subject.kind, table, makeStyle(io.color))(entries, now));
      for (const note of notesOn(found)) showNote(io, note);
    }
    return EXIT.done;
  }
}

function notesOn({ subject: { kind, name }, unread, hasNamesake, ofEarlier }: Timeline): string[] {
  return [
    ...(unread > 0 ? [`Changes and cordons are not shown for ${unread} more nodes.`] : []),
    ...(hasNamesake ? [`A node has the same name: \`kubectl nodepool history node/${name}\`.`] : []),
    ...(ofEarlier > 0
      ? [
          `Left out: ${plural(ofEarlier, 'Event')} of an earlier ${kind === 'Node' ? 'node' : 'pool'} of the same name; see \`${kind === 'Node' ? `kubectl events --for node/${name}` : `kubectl nodepool events ${name}`}\`.`,
        ]
      : []),
    LIMITS,
  ];
}

/** Throws NodepoolError for an invalid name. */
async function subjectOf(text: string): Promise<TimelineSubject> {
  const [pool, node] = [await poolName(text), withoutKind(text)];
  const kind = pool !== text ? 'NodePool' : node !== text ? 'Node' : undefined;
  const name = kind === 'Node' ? node : pool;
  if (name !== '') return { kind, name };
  throw new NodepoolError('usage', 'a name cannot be empty', 'check for an unset shell variable');
}
