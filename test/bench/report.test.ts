/** The report of a benchmark, and whether it names missed targets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shorten } from '../../scripts/bench/page.ts';
import { plot } from '../../scripts/bench/plot.ts';
import { asText, missed, type Report, tables, verdict } from '../../scripts/bench/report.ts';
import { extrapolation, growth } from './growth.ts';
import { type Contender, type RaceResult, resultOf, runRace } from './race.ts';
import { interval, median, ratios } from './statistics.ts';

const sample = (seconds: number, rss = 50) => ({ seconds, cpu: seconds, rss });

test('computes the median', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test('computes ratios from rounds in which both ran', () => {
  assert.deepEqual(ratios([2, 30, 8], [1, 10, 2]), [2, 3, 4]);
  assert.deepEqual(ratios([2, 30, 8], [4]), [0.5]);
  assert.deepEqual(ratios([], [1]), []);
});

test('computes the interval of the median by deterministic resampling', () => {
  assert.deepEqual(interval([2]), { low: 2, high: 2 });
  assert.deepEqual(interval([1, 2, 3]), { low: 1, high: 3 });
  // Of 25 samples from 1 to 25, the order statistics 8 and 18 enclose the median with 95 %.
  const { low, high } = interval(Array.from({ length: 25 }, (_, index) => index + 1));
  assert.ok(low >= 7 && low <= 9, `low ${low}`);
  assert.ok(high >= 17 && high <= 19, `high ${high}`);
  assert.deepEqual(interval([5, 1, 4]), interval([5, 1, 4]));
  assert.ok(Number.isNaN(interval([]).low));
});

test('a target is missed only if the whole interval exceeds it', () => {
  assert.equal(verdict([0.7, 0.8, 1.2], 0.8), 'met');
  assert.equal(verdict([0.7, 0.9, 1.2], 0.8), 'not clear');
  assert.equal(verdict([0.81, 0.9, 1.2], 0.8), 'missed');
  assert.equal(verdict([0.81, 0.9], 0.8), 'not clear', 'two rounds have no interval');
  assert.equal(verdict([0.7, 0.8], 0.8), 'met');
  assert.equal(verdict([], 0.8), 'missed');
  assert.equal(verdict([Number.NaN], 0.8), 'missed');
});

test('rotates the first contender in each round', async () => {
  const order: string[] = [];
  const contender = (name: string): Contender => ({
    name,
    limits: {},
    async run() {
      order.push(name);
      return sample(name === 'b' ? 2 : 1);
    },
  });
  const race = { title: '', peer: contender('a'), others: [contender('b'), contender('c')] };
  const { peer, others } = await runRace(race, 3);
  assert.equal(order.join(''), 'abcbcacab');
  assert.deepEqual(
    [peer, ...others].map(({ name, ratios }) => `${name} ${median(ratios)}`),
    ['a 1', 'b 2', 'c 1'],
  );
});

function report(seconds: number, rss: number, p99: number): Report {
  const run = async () => sample(1);
  const peers = [sample(1), sample(1), sample(1)];
  const slow = { name: 'executable: get', limits: { ratio: 0.85, rss: 110 }, run };
  const race: RaceResult = {
    title: 'Pools',
    peer: resultOf({ name: 'kubectl', limits: {}, run }, peers, peers),
    others: [resultOf(slow, Array(3).fill(sample(seconds, rss)), peers)],
  };
  const machine = { processor: 'a <processor>', cores: 2, memory: 8, system: 'Linux' };
  return {
    ...{ day: '2000-01-01', machine, versions: {}, commit: 'abc', nodes: 1, pools: 1, rounds: 3, races: [race] },
    figures: [
      {
        title: 'watch',
        figures: [
          { name: 'p99', value: p99, unit: 'ms', most: 50 },
          { name: 'p50', value: 2, unit: 'x', most: 1.5, samples: [1, 2, 3] },
        ],
      },
    ],
  };
}

test('lists nothing within its limits', () => {
  assert.deepEqual(missed(report(0.85, 110, 50)), []);
});

test('lists missed targets and missing measurements', () => {
  assert.deepEqual(missed(report(0.9, 120, Number.NaN)), [
    'Pools: executable: get, ratio 0.90, at most 0.85',
    'Pools: executable: get, peak memory 120 MB, at most 110 MB',
    'watch: p99 NaN ms, at most 50 ms',
  ]);
});

test('lists unclear results', () => {
  assert.deepEqual(missed(report(0.9, 120, 20), 'not clear'), ['watch: p50 2 x, at most 1.50 x']);
});

test('renders the tables', () => {
  assert.deepEqual(tables(report(0.9, 100, 20)).map(asText), [
    [
      'Pools: 3 rounds',
      '                   time           spread  ratio  95 % interval        target     CPU  peak memory  95 % interval       target',
      'kubectl          1.00 s  1.00 s - 1.00 s      1                               1.00 s        50 MB        50 - 50',
      'executable: get  900 ms  900 ms - 900 ms   0.90    0.90 - 0.90  0.85, missed  900 ms       100 MB      100 - 100  110 MB, met',
    ].join('\n'),
    [
      'watch',
      '     measured  95 % interval             target',
      'p99     20 ms                        50 ms, met',
      'p50       2 x          1 - 3  1.50 x, not clear',
    ].join('\n'),
  ]);
});

test('plots missed targets in another colour', () => {
  const bars = (seconds: number) => plot(report(seconds, 100, 20).races, 'a < b').match(/<rect class="(\w+)" x/)?.[1];
  assert.equal(bars(0.85), 'executable');
  assert.equal(bars(0.9), 'missed');
  assert.match(plot([], 'a < b'), /a &lt; b/);
});

test('renders growth and the line through two sizes', () => {
  const race = (seconds: number, rss: number): RaceResult => {
    const [peer, other] = ['kubectl', 'ours'].map(name => {
      return resultOf({ name, limits: {}, run: async () => sample(0) }, [sample(seconds, rss)], [sample(seconds, rss)]);
    });
    assert.ok(peer && other);
    return { title: '', peer, others: [other] };
  };
  const [tenth, all] = [race(1, 60), race(5.5, 960)];
  assert.deepEqual(growth(tenth, all).slice(2), [
    { name: 'ours: time', value: 5.5, unit: 'x', most: 11 },
    { name: 'ours: peak memory', value: 16, unit: 'x', most: 11 },
  ]);
  const figures = extrapolation(50_000, tenth, all).filter(({ name }) => name.startsWith('ours, 100,000'));
  assert.deepEqual(
    figures.map(({ value }) => value),
    [10.5, 1960],
  );
});

test('a page omits spreads, earlier executables and empty columns', () => {
  const race = {
    title: 'Pools: 5 rounds',
    heads: ['', 'time', 'spread', 'ratio', 'target'],
    rows: [
      ['kubectl', '2 s', '1 s - 3 s', '1', ''],
      ['executable: get', '1 s', '1 s - 1 s', '0.50', ''],
      ['old executable: get', '2 s', '2 s - 2 s', '1', ''],
    ],
  };
  assert.deepEqual(shorten(race), {
    title: 'Pools: 5 rounds',
    heads: ['', 'time', 'ratio'],
    rows: [
      ['kubectl', '2 s', '1'],
      ['executable: get', '1 s', '0.50'],
    ],
  });
});
