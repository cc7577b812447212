/** The results of a benchmark, as JSON and as tables. */
import type { Figure } from '../../test/bench/figure.ts';
import type { RaceResult, Result } from '../../test/bench/race.ts';
import { interval, median } from '../../test/bench/statistics.ts';
import type { Machine } from './machine.ts';

interface Measured {
  races: RaceResult[];
  figures: { title: string; figures: Figure[] }[];
}

export interface Report extends Measured {
  day: string;
  machine: Machine;
  versions: Record<string, string>;
  nodes: number;
  pools: number;
  rounds: number;
}

export interface Table {
  title: string;
  heads: string[];
  rows: string[][];
}

export function tables({ races, figures }: Measured): Table[] {
  return [...races.map(raceTable), ...figures.map(figureTable)];
}

function raceTable({ title, peer, others }: RaceResult): Table {
  return {
    title: `${title}: ${rounds(peer)}`,
    heads: ['', 'time', 'spread', 'ratio', '95 % interval', 'target', 'CPU', 'peak memory', 'target'],
    rows: [peer, ...others].map(result => {
      const { name, limits, samples, ratios } = result;
      const { low, high } = interval(ratios);
      const seconds = samples.map(sample => sample.seconds);
      const [least, middle, most] = [Math.min(...seconds), median(seconds), Math.max(...seconds)];
      const rss = rssOf(samples);
      return [
        name,
        time(middle),
        `${time(least)} - ${time(most)}`,
        number(median(ratios)),
        result === peer ? '' : `${number(low)} - ${number(high)}`,
        target(ratios, limits.ratio, ''),
        time(median(samples.map(sample => sample.cpu))),
        `${median(rss).toFixed(0)} MB`,
        target(rss, limits.rss, ' MB'),
      ];
    }),
  };
}

function figureTable({ title, figures }: { title: string; figures: Figure[] }): Table {
  return {
    title,
    heads: ['', 'measured', '95 % interval', 'target'],
    rows: figures.map(({ name, value, unit, most, interval: within }) => {
      const after = unit === '' ? '' : ` ${unit}`;
      const range = within === undefined ? '' : `${number(within.low)} - ${number(within.high)}`;
      const [limit, says] = [most ?? 0, verdictOf(value, within?.low ?? value, most ?? 0)];
      return [name, `${number(value)}${after}`, range, most === undefined ? '' : `${number(limit)}${after}, ${says}`];
    }),
  };
}

/** One line for each target that has this verdict: the missed ones by default. */
export function missed({ races, figures }: Measured, wanted: Verdict = 'missed'): string[] {
  const line = (what: string, samples: number[], most: number | undefined, unit: string) =>
    most === undefined || verdict(samples, most) !== wanted
      ? []
      : [`${what} ${number(median(samples))}${unit}, at most ${number(most)}${unit}`];
  const ofRaces = races.flatMap(({ title, others }) =>
    others.flatMap(({ name, limits, samples, ratios }) => [
      ...line(`${title}: ${name}, ratio`, ratios, limits.ratio, ''),
      ...line(`${title}: ${name}, peak memory`, rssOf(samples), limits.rss, ' MB'),
    ]),
  );
  const ofFigures = figures.flatMap(({ title, figures }) =>
    figures.flatMap(({ name, value, unit, most, interval: within }) => {
      const after = ` ${unit}`.trimEnd();
      if (most === undefined || verdictOf(value, within?.low ?? value, most) !== wanted) return [];
      return `${title}: ${name} ${number(value)}${after}, at most ${number(most)}${after}`;
    }),
  );
  return [...ofRaces, ...ofFigures];
}

function rssOf(samples: readonly { rss: number }[]): number[] {
  return samples.map(({ rss }) => rss);
}

/**
 * Whether the median is within the limit: 'not clear' if it is above and the limit lies in its interval. NaN (not
 * measured) misses every target.
 */
export function verdict(samples: readonly number[], most: number): Verdict {
  return verdictOf(median(samples), interval(samples).low, most);
}

type Verdict = 'met' | 'not clear' | 'missed';

function verdictOf(value: number, low: number, most: number): Verdict {
  if (value <= most) return 'met';
  return low <= most ? 'not clear' : 'missed';
}

function target(samples: number[], most: number | undefined, unit: string): string {
  if (most === undefined) return '';
  return `${number(most)}${unit}, ${verdict(samples, most)}`;
}

function rounds({ samples }: Result): string {
  return samples.length === 1 ? '1 round' : `${samples.length} rounds`;
}

function time(seconds: number): string {
  return seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(2)} s`;
}

/** Three significant digits; the measurement is not more precise. */
export function number(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);
}

export function asText({ title, heads, rows }: Table): string {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)));
  const line = (row: string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)));
  return [title, ...all.map(row => line(row).join('  ').trimEnd())].join('\n');
}

export function asMarkdown({ title, heads, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const rule = heads.map((_, column) => (column === 0 ? '---' : '---:'));
  return [`### ${title}`, '', line(heads), line(rule), ...rows.map(line)].join('\n');
}
