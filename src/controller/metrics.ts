/** A small registry of counters, gauges and histograms, exported in Prometheus' text format 0.0.4. */

export type Labels = Record<string, string>;

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface Counter {
  /** With 0 the series exists from now on: alerts on an increase need a value before the first event. */
  inc(labels?: Labels, by?: number): void;
}

interface Gauge {
  set(value: number, labels?: Labels): void;
  /** The function is called whenever the metrics are read. */
  follow(value: () => number, labels?: Labels): void;
}

interface Histogram {
  observe(value: number, labels?: Labels): void;
}

export interface MetricInfo {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly string[];
}

interface Family extends Omit<MetricInfo, 'name'> {
  samples(): string[];
}

export class Registry {
  readonly #families = new Map<string, Family>();

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const values = new Map<string, number>();
    this.#add(name, {
      help,
      labels,
      type: 'counter',
      samples: () => [...values].map(([labels, value]) => `${name}${labels} ${value}`),
    });
    return {
      inc: (labels, by = 1) => {
        const key = labelText(labels);
        values.set(key, (values.get(key) ?? 0) + by);
      },
    };
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const values = new Map<string, () => number>();
    this.#add(name, {
      help,
      labels,
      type: 'gauge',
      samples: () => [...values].map(([labels, value]) => `${name}${labels} ${value()}`),
    });
    return {
      set: (value, labels) => {
        values.set(labelText(labels), () => value);
      },
      follow: (value, labels) => {
        values.set(labelText(labels), value);
      },
    };
  }

  /** A metric with series computed at each read, so that those of deleted objects end. @param read sets all labels */
  collect({ name, type, help, labels }: MetricInfo, read: () => Iterable<readonly [Labels, number]>): void {
    const samples = () => Array.from(read(), ([values, value]) => `${name}${labelText(values)} ${value}`);
    this.#add(name, { type, help, labels, samples });
  }

  /** @param bounds of the buckets, ascending, without infinity */
  histogram(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []): Histogram {
    const series = new Map<string, { labels: Labels; counts: number[]; sum: number }>();
    const samples = () => [...series.values()].flatMap(each => histogramLines(name, bounds, each));
    this.#add(name, { help, labels, type: 'histogram', samples });
    return {
      observe: (value, labels = {}) => {
        const key = labelText(labels);
        const found = series.get(key) ?? { labels, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
        const bucket = bounds.findIndex(bound => value <= bound);
        const index = bucket === -1 ? bounds.length : bucket;
        found.counts[index] = (found.counts[index] ?? 0) + 1;
        found.sum += value;
        series.set(key, found);
      },
    };
  }

  /** All metrics, in the order of their definition. */
  list(): MetricInfo[] {
    return [...this.#families].map(([name, { type, help, labels }]) => ({ name, type, help, labels }));
  }

  /** The body of the HTTP response, with METRICS_CONTENT_TYPE. */
  text(): string {
    const lines = [...this.#families].flatMap(([name, { help, type, samples }]) => [
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
      ...samples(),
    ]);
    return lines.map(line => `${line}\n`).join('');
  }

  #add(name: string, family: Family): void {
    if (this.#families.has(name)) throw new Error(`the metric ${name} already exists`);
    this.#families.set(name, family);
  }
}

/** Buckets are cumulative. */
function histogramLines(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum }: { labels: Labels; counts: readonly number[]; sum: number },
): string[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = index < bounds.length ? String(bounds[index]) : '+Inf';
    return `${name}_bucket${labelText({ ...labels, le })} ${total}`;
  });
  const text = labelText(labels);
  return [...buckets, `${name}_sum${text} ${sum}`, `${name}_count${text} ${total}`];
}

/** `{a="x",b="y"}`, or "" without labels. */
function labelText(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
