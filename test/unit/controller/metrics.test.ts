import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from '../../../src/controller/metrics.ts';

test('prints counters and gauges with escaped labels', () => {
  const registry = new Registry();
  const counter = registry.counter('requests_total', 'All\nrequests \\ of all.');
  counter.inc({ path: 'a"b\\c\nd' });
  counter.inc({ path: 'a"b\\c\nd' });
  counter.inc();
  registry.gauge('depth', 'How deep.').set(-1.5);
  assert.equal(
    registry.text(),
    [
      '# HELP requests_total All\\nrequests \\\\ of all.',
      '# TYPE requests_total counter',
      'requests_total{path="a\\"b\\\\c\\nd"} 2',
      'requests_total 1',
      '# HELP depth How deep.',
      '# TYPE depth gauge',
      'depth -1.5',
      '',
    ].join('\n'),
  );
});

test('a histogram counts cumulatively, with inclusive bounds', () => {
  const registry = new Registry();
  const histogram = registry.histogram('seconds', 'Time.', [0.5, 1]);
  for (const value of [0.25, 0.5, 0.75, 3]) histogram.observe(value, { of: 'x' });
  assert.deepEqual(registry.text().split('\n').slice(2, -1), [
    'seconds_bucket{of="x",le="0.5"} 2',
    'seconds_bucket{of="x",le="1"} 3',
    'seconds_bucket{of="x",le="+Inf"} 4',
    'seconds_sum{of="x"} 4.5',
    'seconds_count{of="x"} 4',
  ]);
});

test('reads a callback gauge at each scrape, and keeps a value that is set later', () => {
  const registry = new Registry();
  const gauge = registry.gauge('depth', 'How deep.');
  let value = 1;
  gauge.follow(() => value, { name: 'x' });
  const line = () => registry.text().split('\n')[2];
  assert.equal(line(), 'depth{name="x"} 1');
  value = 2;
  assert.equal(line(), 'depth{name="x"} 2');
  gauge.set(7, { name: 'x' });
  assert.equal(line(), 'depth{name="x"} 7');
});

test('throws when a name is registered twice', () => {
  const registry = new Registry();
  registry.counter('a', '');
  assert.throws(() => registry.gauge('a', ''), /already exists/);
});
