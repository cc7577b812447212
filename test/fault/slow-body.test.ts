/** Responses arrive at 1 kB/s: bytes keep coming, but the whole never arrives. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isList, isWatch } from './asked.ts';
import { BIG_ANNOTATION } from './expected.ts';
import { type Child, converged, startChild, useFaultEnv } from './fault-env.ts';
import { type Model, POOLS } from './model.ts';
import { auditMark, createsAndDeletes } from './oracle.ts';
import { row } from './row.ts';
import { CREATES_AT_START, prepare } from './scenario.ts';
import { answerWith, throttle } from './treatments.ts';

const NODES = '/api/v1/nodes';
const slow = throttle(1_000);
/** Bytes of an annotation: more than arrive within any deadline, and less than the server's limit. */
const BIG = 200_000;
/** The deadline of a list or write, and a margin for a busy machine and the back-off. */
const [DEADLINE_S, MARGIN_S] = [30, 10];
/** Megabytes that a process may grow meanwhile: after its start the heap still grows. */
const MAX_GROWTH = 40;

const testEnv = useFaultEnv();

async function makeBig({ client }: Model, path: string): Promise<void> {
  await client.expect('PATCH', path, { metadata: { annotations: { [BIG_ANNOTATION]: noise(BIG) } } });
}

/** Random text, which compression does not shorten. */
function noise(length: number): string {
  return randomBytes(length).toString('base64').slice(0, length);
}

/** Seconds between two requests; fails when that is not the deadline. */
function deadline({ method, path, at }: Asked, again: Asked): number {
  const seconds = (again.at - at) / 1000;
  const inTime = seconds > DEADLINE_S - 1 && seconds < DEADLINE_S + MARGIN_S;
  assert.ok(inTime, `${method} ${path}: sent again after ${seconds.toFixed(1)} s`);
  return seconds;
}

/** The peak growth of the process in megabytes. */
async function growth(child: Child, { rss }: { rss: number }): Promise<number> {
  const { peak } = await child.memory();
  assert.ok(peak - rss < MAX_GROWTH, `from ${rss} to ${peak} MB`);
  return Math.round(peak - rss);
}

row(
  {
    fault: 'slow body',
    how: 'the first lists arrive at 1 kB/s',
    holds: 'memory stays bounded; a list fails after 30 s without a whole object, and later succeeds',
  },
  async (t, facts) => {
    const [proxy, model] = [await testEnv.proxy(t), testEnv.model()];
    await prepare(model);
    // The first one by name: otherwise the objects before it arrive, and a list with progress does not fail.
    await makeBig(model, `${NODES}/bystander`);
    await makeBig(model, `${POOLS}/one`);
    const mark = await auditMark(testEnv.cluster());
    const slowed = new Map<string, Asked>();
    let hasStreams = true;
    proxy.onRequest(asked => {
      const { path } = asked;
      if (!isList(asked)) return undefined;
      if (path === POOLS && isWatch(asked)) {
        hasStreams = false;
        return answerWith(422, 'sendInitialEvents is forbidden');
      }
      // The command lists the pools once before its caches do.
      if (slowed.has(path) || (path === POOLS && hasStreams)) return undefined;
      slowed.set(path, asked);
      return path === NODES || path === POOLS ? slow : undefined;
    });
    const child = startChild(t, proxy);
    await eventually('the lists come slowly', () => slowed.has(NODES) && slowed.has(POOLS));
    const before = await child.memory();
    await child.synced(90_000);
    await converged(model, proxy);
    facts.megabytesMore = await growth(child, before);

    const again = [NODES, POOLS].flatMap(path => {
      const first = slowed.get(path);
      const second = proxy.requests.find(asked => asked.path === path && isList(asked) && asked.id > (first?.id ?? 0));
      return first && second ? [deadline(first, second)] : [];
    });
    assert.equal(again.length, 2);
    assert.equal(child.lines(/next attempt in/).length, again.length, child.log());
    assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AT_START);
    assert.equal(await child.end(), 0);
    facts.listedAgainAfterSeconds = Math.max(...again).toFixed(1);
  },
);
