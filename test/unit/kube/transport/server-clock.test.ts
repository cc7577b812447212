import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerClock } from '../../../../src/kube/transport/server-clock.ts';

const START = Date.parse('2026-02-01T00:00:00Z');

/** Notes a response to a request that took 20 ms. @param ours milliseconds @param theirs the server's time then, in milliseconds */
function respond(clock: ServerClock, ours: number, theirs: number, took = 20): void {
  clock.note(new Date(START + theirs).toUTCString(), ours - took, ours);
}

function at(clock: ServerClock, ours: number): number {
  return (clock.timeAt(ours)?.getTime() ?? Number.NaN) - START;
}

test('has no time before the first response, and ignores an invalid Date', () => {
  const clock = new ServerClock();
  for (const header of [undefined, '', 'yesterday']) clock.note(header, 0, 20);
  assert.equal(clock.timeAt(20), undefined);
});

test('comes closer with each response, and never goes back', () => {
  const clock = new ServerClock();
  let previous = Number.NEGATIVE_INFINITY;
  for (let ours = 0; ours < 10_000; ours += 370) {
    respond(clock, ours, ours + 5_000);
    const [offset, error] = [at(clock, ours) - ours, ours + 5_000 - at(clock, ours)];
    assert.ok(offset >= previous && error >= 0 && error < 1_000, `${ours}: ${offset} ${error}`);
    previous = offset;
  }
  assert.ok(5_000 - previous < 100, `${previous}`);
});

test('a slow response does not turn it back', () => {
  const clock = new ServerClock();
  respond(clock, 1_000, 1_000);
  clock.note(new Date(START + 2_000).toUTCString(), 1_990, 9_000);
  assert.equal(at(clock, 9_000), 9_000);
});

test('follows a clock that is set, and a machine that slept', () => {
  const clock = new ServerClock();
  respond(clock, 0, 0);
  respond(clock, 1_000, 61_000);
  assert.equal(at(clock, 1_000), 61_000);
  respond(clock, 2_000, 2_000);
  assert.ok(Math.abs(at(clock, 2_000) - 2_000) <= 1_020, `${at(clock, 2_000)}`);
});
