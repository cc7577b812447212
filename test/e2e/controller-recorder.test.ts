/** The recorder's aggregation, as seen in the Event objects. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import { Recorder } from '../../src/controller/recorder.ts';
import { Api } from '../../src/kube/api/api.ts';
import { eventSink } from '../../src/kube/resources/events.ts';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { openTransport } from './admin-transport.ts';

interface EventBody {
  metadata: { name: string };
  note: string;
  reason: string;
  type: string;
  regarding: { name: string };
  reportingController: string;
  series?: { count: number; lastObservedTime: string };
}

describe('the recorder', () => {
  const cluster = useCluster({ own: true });

  function create() {
    const transport = openTransport(cluster());
    let ids = 0;
    const log: string[] = [];
    const recorder = new Recorder({
      sink: eventSink(new Api(transport, () => new Date()), 'example.com/test', 'test-1'),
      clock: systemClock,
      wall: () => new Date(),
      random: Math.random,
      newId: () => `${Date.now().toString(16)}${(ids++).toString(16)}`,
      log: (level, message) => level === 'warning' && log.push(message),
    });
    const tell = (name: string, reason: string, note: string) =>
      recorder.event({
        regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
        type: 'Normal',
        reason,
        action: 'Test',
        note,
      });
    return { recorder, tell, log, close: () => transport.close() };
  }

  async function read(name: string): Promise<EventBody[]> {
    const list = (await raw(cluster()).expect('GET', '/apis/events.k8s.io/v1/namespaces/default/events')) as {
      items: EventBody[];
    };
    return list.items.filter(({ regarding }) => regarding.name === name);
  }

  test('counts repeats in one Event, while a single Event has no series', async () => {
    const { recorder, tell, log, close } = create();
    await createNodes(cluster(), [{ name: 'node-a' }]);
    tell('node-a', 'Once', 'only this');
    tell('node-a', 'Often', 'again');
    assert.equal(await recorder.flush(5_000), true);
    for (let times = 2; times <= 7; times++) tell('node-a', 'Often', 'again');
    assert.equal(await recorder.flush(5_000), true);
    const events = await read('node-a');
    assert.deepEqual(events.map(({ reason, note, series }) => [reason, note, series?.count]).sort(), [
      ['Often', 'again', 7],
      ['Once', 'only this', undefined],
    ]);
    assert.equal(events[0]?.reportingController, 'example.com/test');
    assert.deepEqual(log, []);
    const described = await kubectl(cluster(), ['describe', 'node', 'node-a']);
    assert.match(described.stdout, /Normal +Often .*again/);
    close();
  });

  test('records ten events that differ only in the note, and aggregates more', async () => {
    const { recorder, tell, log, close } = create();
    for (let index = 1; index <= 15; index++) tell('node-b', 'Changed', `change ${index}`);
    assert.equal(await recorder.flush(5_000), true);
    const events = await read('node-b');
    assert.equal(events.length, 11);
    const combined = events.filter(({ note }) => note.startsWith('(combined'));
    assert.deepEqual(
      combined.map(({ note, series }) => [note, series?.count]),
      [['(combined from similar events): change 11', 5]],
    );
    assert.deepEqual(log, []);
    close();
  });

  test('records 25 events of a burst about one object', async () => {
    const { recorder, tell, close } = create();
    for (let index = 1; index <= 100; index++) tell('node-c', `Reason${index}`, 'flood');
    assert.equal(await recorder.flush(10_000), true);
    assert.equal((await read('node-c')).length, 25);
    close();
  });

  test('recreates a deleted Event, cuts texts at the limits, and drops what the server refuses', async () => {
    const { recorder, tell, log, close } = create();
    tell('node-d', 'Again', `${'x'.repeat(1023)}é`);
    await recorder.flush(5_000);
    const [first] = await read('node-d');
    assert.equal(first?.note, 'x'.repeat(1023));
    await raw(cluster()).expect('DELETE', `/apis/events.k8s.io/v1/namespaces/default/events/${first?.metadata.name}`);
    tell('node-d', 'Again', `${'x'.repeat(1023)}é`);
    await recorder.flush(5_000);
    const [second] = await read('node-d');
    assert.notEqual(second?.metadata.name, first?.metadata.name);
    assert.equal(second?.series?.count, 2);
    tell('node-d', '', 'no reason at all');
    await recorder.flush(5_000);
    assert.match(log[0] ?? '', /dropped: .*reason/);
    close();
  });
});
