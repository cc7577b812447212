import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EventCorrelator, type EventInput, type EventSeries } from '../../../src/controller/recorder.ts';
import { FakeClock } from './fake-clock.ts';

function create() {
  const clock = new FakeClock();
  const correlator = new EventCorrelator({ clock, wall: clock.wall });
  const observe = (name: string, reason: string, note: string): EventSeries | undefined =>
    correlator.observe(event(name, reason, note));
  return { clock, observe };
}

function event(name: string, reason: string, note: string): EventInput {
  return { regarding: { apiVersion: 'v1', kind: 'Node', name }, type: 'Normal', reason, action: 'Act', note };
}

describe('the correlator', () => {
  test('counts a repeated event within 600 s, and creates a new event after that', () => {
    const { clock, observe } = create();
    const first = observe('a', 'R', 'note');
    clock.freeze(600_000);
    assert.equal(observe('a', 'R', 'note'), first);
    assert.equal(first?.count, 2);
    assert.equal(Number(first?.last) - Number(first?.first), 600_000);
    clock.freeze(600_001);
    const later = observe('a', 'R', 'note');
    assert.notEqual(later, first);
    assert.equal(later?.count, 1);
  });

  test('creates a new event for another object, reason or note', () => {
    const { observe } = create();
    const all = [observe('a', 'R', 'x'), observe('b', 'R', 'x'), observe('a', 'S', 'x'), observe('a', 'R', 'y')];
    assert.equal(new Set(all).size, 4);
  });

  test('creates ten similar events, then an aggregate, while known notes still count', () => {
    const { observe } = create();
    const single = Array.from({ length: 10 }, (_, index) => observe('a', 'R', `note ${index}`));
    assert.equal(new Set(single).size, 10);
    const shared = observe('a', 'R', 'note 10');
    assert.equal(shared?.event.note, '(combined from similar events): note 10');
    assert.equal(observe('a', 'R', 'note 11'), shared);
    assert.equal(shared?.count, 2);
    assert.equal(observe('a', 'R', 'note 3'), single[3]);
    assert.equal(observe('a', 'Other', 'note 12')?.event.note, 'note 12');
  });

  test('creates similar events singly again after 600 s without one', () => {
    const { clock, observe } = create();
    for (let index = 0; index < 12; index++) observe('a', 'R', `note ${index}`);
    clock.freeze(600_001);
    assert.equal(observe('a', 'R', 'new')?.event.note, 'new');
  });

  test('allows a burst of 25 events per object, then one event every 300 s', () => {
    const { clock, observe } = create();
    const reported = Array.from({ length: 40 }, (_, index) => observe('a', `R${index}`, 'x'));
    assert.equal(reported.filter(each => each !== undefined).length, 25);
    assert.ok(observe('b', 'R', 'x'));
    clock.freeze(299_999);
    assert.equal(observe('a', 'late', 'x'), undefined);
    clock.freeze(1);
    assert.ok(observe('a', 'late', 'x'));
    assert.equal(observe('a', 'later', 'x'), undefined);
    clock.freeze(100 * 300_000);
    const refilled = Array.from({ length: 40 }, (_, index) => observe('a', `S${index}`, 'x'));
    assert.equal(refilled.filter(each => each !== undefined).length, 25);
  });
});
