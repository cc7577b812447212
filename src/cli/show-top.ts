/** Reads the figures of `top` and shows them. */
import { systemClock } from '../controller/clock.ts';
import { type TopOptions, top } from '../operations/top.ts';
import { warningLine } from './error-line.ts';
import type { Deps } from './factory.ts';
import { EXIT } from './report-error.ts';

export interface TopShown {
  options: TopOptions;
  /** Undefined: a table. */
  output: 'json' | 'csv' | undefined;
  headers: boolean;
}

/** Warnings shown: thousands of pods can be wrong alike. */
const MOST_WARNINGS = 10;

/** Prints to stdout, warnings to stderr; returns the exit code. */
export async function showTop({ options, output, headers }: TopShown, deps: Deps): Promise<number> {
  const { io } = deps;
  const connection = await deps.connect();
  // Nodes alone are there before a spinner is.
  const spinner = options.pods ? await deps.progress('Reading nodes and pods') : undefined;
  const found = await top(options, { ...connection, clock: systemClock }).finally(() => spinner?.stop());
  const { warnings, usage } = found;
  for (const warning of warnings.slice(0, MOST_WARNINGS)) io.err(warningLine(warning));
  if (warnings.length > MOST_WARNINGS) io.err(warningLine(`and ${warnings.length - MOST_WARNINGS} more`));
  if (usage?.kind === 'failed') io.err(warningLine(`no usage: metrics.k8s.io: ${usage.reason}`));
  const withNodes = options.nodes;
  if (output !== undefined) {
    const { topCsv, topJson } = await import('../render/top-data.ts');
    io.out(output === 'json' ? topJson(found, withNodes) : topCsv(found, { withNodes, headers }));
    return EXIT.done;
  }
  if (found.pools.length === 0 || (withNodes && found.nodes.length === 0)) {
    io.err(found.pools.length === 0 ? 'No pools found.' : 'No nodes found.');
    return EXIT.done;
  }
  const { renderTopNodes, renderTopPools } = await import('../render/top.ts');
  const { makeStyle } = await import('../render/style.ts');
  const { barGlyphs } = await import('../render/bar.ts');
  const bars = io.stdoutIsTTY ? { columns: io.columns, glyphs: barGlyphs(io.env) } : undefined;
  const table = { headers, everyResource: Array.isArray(options.resources), bars };
  io.out((withNodes ? renderTopNodes : renderTopPools)(found, table, makeStyle(io.color)));
  return EXIT.done;
}
