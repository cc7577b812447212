/** Writes a run and its plot into docs/benchmarks.md, or into docs/scale.md for a large cluster. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RaceResult } from '../../test/bench/race.ts';
import { rewriteMarked } from '../marked.ts';
import { ROOT } from '../root.ts';
import type { Origin } from './machine.ts';
import { plot } from './plot.ts';
import { asMarkdown, missed, type Report, tables } from './report.ts';

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
    ...tables({ races: [race], figures: [] }).map(asMarkdown),
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
  const misses = listed('Missed', missed(report));
  const unclear = listed('Not clear, the limit lies in the interval', missed(report, 'not clear'));
  return [
    `${day}, commit ${commit}: ${nodes.toLocaleString('en')} nodes in ${pools} pools.`,
    placeText(report),
    'API server, etcd and what is measured share the machine.',
    '',
    `![Time of each command in times of its peer](${name}.svg)`,
    '',
    ...(misses.length + unclear.length === 0 ? ['Every target was met.', ''] : [...misses, ...unclear]),
    tables(report).map(asMarkdown).join('\n\n'),
  ].join('\n');
}

function listed(title: string, targets: string[]): string[] {
  return targets.length === 0 ? [] : [`${title}:`, '', ...targets.map(target => `- ${target}`), ''];
}
