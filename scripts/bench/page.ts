/** Writes a run and its plot into docs/benchmarks.md, or into docs/scale.md for a large cluster. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RaceResult } from '../../test/bench/race.ts';
import { rewriteMarked } from '../marked.ts';
import { ROOT } from '../root.ts';
import type { Origin } from './machine.ts';
import { plot } from './plot.ts';
import { asMarkdown, type Report, type Table, tables } from './report.ts';

/** The pages have what a reader compares. These columns and rows are printed by the run, and are in results.json. */
const LEFT_OUT = {
  heads: /^(spread|95 % interval|CPU)$/,
  rows: /^(old executable|the floor|changes without an answer from|of that|CPU at)|get --help|p50$/,
  titles: /compressed|npx|Installed/,
};
/** Of growth, and of sizes that were not measured, one command and its peer are enough. */
const GROWTH = { titles: /^Extrapolated|, relative to /, rows: /^(kubectl get nodes|executable: reconcile)[,:]/ };

export function writePage(report: Report, name: 'benchmarks' | 'scale'): void {
  rewriteMarked(join(ROOT, 'docs', `${name}.md`), 'bench', pageText(report, name));
  const { nodes, pools, day } = report;
  const caption = `${nodes.toLocaleString('en')} nodes in ${pools} pools, ${day}.`;
  writeFileSync(join(ROOT, 'docs', `${name}.svg`), plot(report.races, caption));
}

/** Writes what reading many pods takes into docs/benchmarks.md. */
export function writePods(race: RaceResult, origin: Origin): void {
  const { day, commit } = origin;
  const text = [
    `${day}, commit ${commit}.`,
    placeText(origin),
    '',
    ...tables({ races: [race], figures: [] })
      .map(shorten)
      .map(asMarkdown),
  ];
  rewriteMarked(join(ROOT, 'docs', 'benchmarks.md'), 'bench:pods', text.join('\n'));
}

function placeText({ machine, versions }: Origin): string {
  const { processor, cores, memory, system } = machine;
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${processor}, ${cores} cores, ${memory} GiB, ${system}; ${programs.join(', ')}.`;
}

function pageText(report: Report, name: string): string {
  const { day, commit, nodes, pools } = report;
  const shown = tables(report).filter(({ title }) => !LEFT_OUT.titles.test(title));
  return [
    `${day}, commit ${commit}: ${nodes.toLocaleString('en')} nodes in ${pools} pools.`,
    placeText(report),
    'API server, etcd and what is measured share the machine.',
    '',
    `![Time of each command relative to its peer](${name}.svg)`,
    '',
    shown.map(shorten).map(asMarkdown).join('\n\n'),
  ].join('\n');
}

/** The table as a page has it: without the columns and rows above, and without columns that have no value. */
export function shorten({ title, heads, rows }: Table): Table {
  const isWanted = GROWTH.titles.test(title)
    ? (name: string) => GROWTH.rows.test(name)
    : (name: string) => !LEFT_OUT.rows.test(name);
  const kept = rows.filter(([name = '']) => isWanted(name));
  const columns = heads.flatMap((head, column) =>
    column === 0 || (!LEFT_OUT.heads.test(head) && kept.some(row => row[column] !== '')) ? [column] : [],
  );
  const pick = (cells: string[]) => columns.map(column => cells[column] ?? '');
  return { title, heads: pick(heads), rows: kept.map(pick) };
}
