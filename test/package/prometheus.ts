/** Prometheus and promtool, and the alerts and queries that the chart has for them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { ROOT } from '../../scripts/root.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { freePorts } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';
import { eventually } from '../e2e/watching.ts';

export const PROMETHEUS_BINARIES = ['prometheus', 'promtool'] as const;
export const ALERTS = join(ROOT, 'charts/kubectl-nodepool/files/alerts.yaml');
export const DASHBOARD = join(ROOT, 'charts/kubectl-nodepool/files/dashboard.json');

/** For an alert to fire or to clear. */
const LIMIT_MS = 90_000;

export interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; for?: string; labels: Record<string, string> }[] }[];
}

export const readRules = async () => load(await readFile(ALERTS, 'utf8')) as Rules;

/** Of alerts that wait for minutes: what is shorter in a test. */
const SHORTER: Record<string, [from: string, to: string][]> = {
  NodePoolReconcileErrors: [
    ['> 300', '> 8'],
    ['[10m]', '[30s]'],
    ['[5m]', '[10s]'],
  ],
  NodePoolReconcileStale: [['> 3600', '> 10']],
  NodePoolInvalidRecords: [
    ['[1h]', '[10s]'],
    ['offset 1h', 'offset 10s'],
  ],
  NodePoolReconcilesStuck: [['> 600', '> 4']],
};
/** Fires at once. */
const WITHOUT_FOR = 'NodePoolInvalidRecords';

/** The rules of the chart, with seconds for minutes. Fails on a rule that has changed, or has minutes left. */
export async function quickRules(): Promise<Rules> {
  const rules = await readRules();
  for (const rule of rules.groups.flatMap(group => group.rules)) {
    for (const [from, to] of SHORTER[rule.alert] ?? []) {
      const parts = rule.expr.split(from);
      assert.equal(parts.length, 2, `${rule.alert} has no ${from}, or more than one: ${rule.expr}`);
      rule.expr = parts.join(to);
    }
    assert.doesNotMatch(rule.expr, /\d[mhd]\b|> \d{3}/, `${rule.alert} waits for minutes: add it to SHORTER`);
    if (rule.alert === WITHOUT_FOR) assert.equal(rule.for, undefined);
    else {
      assert.match(rule.for ?? '', /^\d+m$/, rule.alert);
      rule.for = '2s';
    }
  }
  return rules;
}

export async function promtool(...args: string[]): Promise<string> {
  const { promtool } = await ensureBinaries(PROMETHEUS_BINARIES);
  const { code, stdout, stderr } = await run(promtool, args);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

export interface Prometheus {
  /** The series of an instant query. */
  query(expression: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]>;
}

/**
 * Scrapes the targets each second, and evaluates the rules as often. It ends with the test.
 * @param proxy the URL of an HTTP proxy, if it needs one to reach them
 */
export async function startPrometheus(
  t: { after(end: () => unknown): void },
  folder: string,
  { targets, rules, proxy }: { targets: readonly string[]; rules: Rules; proxy?: string },
): Promise<Prometheus> {
  const { prometheus } = await ensureBinaries(PROMETHEUS_BINARIES);
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'rules.json')],
    scrape_configs: [
      { job_name: 'nodepool', static_configs: [{ targets }], ...(proxy === undefined ? {} : { proxy_url: proxy }) },
    ],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'rules.json'), JSON.stringify(rules));
  await writeFile(join(folder, 'prometheus.json'), JSON.stringify(config));
  const [port = 0] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const flags = [
    `--config.file=${join(folder, 'prometheus.json')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn(prometheus, flags, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    log += text;
  });
  const exit = new Promise(resolve => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually('Prometheus is ready', async () => (await isReady()) || child.exitCode !== null);
  assert.equal(child.exitCode, null, log);
  return {
    async query(expression) {
      const body = new URLSearchParams({ query: expression });
      const response = await fetch(`http://${address}/api/v1/query`, { method: 'POST', body });
      const answer = (await response.json()) as { error?: string; data?: { result: never[] } };
      assert.ok(answer.data, `${expression}: ${answer.error}`);
      return answer.data.result;
    },
  };
}

/** Waits for alerts as `ALERT POOL`, and for the end of all; keeps the names of those that fired and cleared. */
export function followAlerts(prometheus: Prometheus) {
  const [fired, cleared] = [new Set<string>(), new Set<string>()];
  const firing = async () => {
    const found = await prometheus.query('ALERTS{alertstate="firing"}');
    return found.map(({ metric }) => `${metric.alertname} ${metric.pool ?? ''}`).sort();
  };
  const wait = async (what: string, isDone: (found: string[]) => boolean) => {
    let found: string[] = [];
    try {
      await eventually(
        what,
        async () => {
          found = await firing();
          return isDone(found);
        },
        LIMIT_MS,
      );
    } catch (error) {
      throw new Error(`${what}: ${found.join(', ')}`, { cause: error });
    }
  };
  return {
    cleared,
    fire: async (what: string, ...expected: string[]) => {
      await wait(what, found => expected.every(alert => found.includes(alert)));
      for (const alert of expected) fired.add(alert.replace(/ .*/, ''));
    },
    clear: async (what: string) => {
      await wait(`${what}: cleared`, found => found.length === 0);
      for (const alert of fired) cleared.add(alert);
    },
  };
}
