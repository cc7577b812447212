/** The results of a benchmark, as JSON and as tables. */
import type { Figure } from '../../test/bench/figure.ts';
import type { RaceResult, Result } from '../../test/bench/race.ts';
import { interval, median } from '../../test/bench/statistics.ts';
import type { Origin } from './machine.ts';

interface Measured {
  races: RaceResult[];
  figures: { title: string; figures: Figure[] }[];
}

export interface Report extends Measured, Origin {
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
    heads: ['', 'time', 'spread', 'ratio', '95 % interval', 'target', 'CPU', 'peak memory', '95 % interval', 'target'],
    rows: [peer, ...others].map(result => {
      const { name, limits, samples, ratios } = result;
      const seconds = samples.map(sample => sample.seconds);
      const [least, middle, most] = [Math.min(...seconds), median(seconds), Math.max(...seconds)];
      const rss = rssOf(samples);
      return [
        name,
        time(middle),
        `${time(least)} - ${time(most)}`,
        number(median(ratios)),
        result === peer ? '' : range(ratios),
        target(ratios, limits.ratio, ''),
        time(median(samples.map(sample => sample.cpu))),
        `${median(rss).toFixed(0)} MB`,
        range(rss),
        target(rss, limits.rss, ' MB'),
      ];
    }),
  };
}

function figureTable({ title, figures }: { title: string; figures: Figure[] }): Table {
  return {
    title,
    heads: ['', 'measured', '95 % interval', 'target'],
    rows: figures.map(figure => {
      const { name, value, unit, most, samples } = figure;
      const after = unit === '' ? '' : ` ${unit}`;
      const says = most === undefined ? '' : `${number(most)}${after}, ${verdictOn(figure, most)}`;
      return [name, `${number(value)}${after}`, samples === undefined ? '' : range(samples), says];
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
    figures.flatMap(figure => {
      const { name, value, unit, most } = figure;
      const after = ` ${unit}`.trimEnd();
      if (most === undefined || verdictOn(figure, most) !== wanted) return [];
      return `${title}: ${name} ${number(value)}${after}, at most ${number(most)}${after}`;
    }),
  );
  return [...ofRaces, ...ofFigures];
}

function rssOf(samples: readonly { rss: number }[]): number[] {
  return samples.map(({ rss }) => rss);
}

type Verdict = 'met' | 'not clear' | 'missed';

/** Fewer have no interval. */
const MIN_SAMPLES = 3;

/**
 * Whether the median is within the limit: 'not clear' if it is above and the limit lies in its interval, or it has none. NaN
 * (not measured) misses every target.
 */
export function verdict(samples: readonly number[], most: number): Verdict {
  const value = median(samples);
  if (Number.isNaN(value)) return 'missed';
  if (value <= most) return 'met';
  return samples.length < MIN_SAMPLES || interval(samples).low <= most ? 'not clear' : 'missed';
}

/** A figure without samples is a count, or was not measured. */
function verdictOn({ value, samples }: Figure, most: number): Verdict {
  if (samples !== undefined) return verdict(samples, most);
  return value <= most ? 'met' : 'missed';
}

function range(samples: readonly number[]): string {
  if (samples.length < MIN_SAMPLES) return '';
  const { low, high } = interval(samples);
  return `${number(low)} - ${number(high)}`;
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

/** Two to three significant digits; the measurement is not more precise. */
export function number(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(value < 0.2 ? 3 : value < 10 ? 2 : 1);
}

/** Each table, then the targets that are missed or not clear. @returns whether none is missed */
export function print(report: Measured): boolean {
  for (const table of tables(report)) console.log(`\n${asText(table)}`);
  for (const target of missed(report, 'not clear')) console.log(`\nnot clear: ${target}`);
  const misses = missed(report);
  for (const target of misses) console.log(`\nmissed: ${target}`);
  return misses.length === 0;
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
