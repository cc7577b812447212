/** The impact above a question, on a terminal with colours. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { NO_TERMINAL } from './commands.ts';
import { openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();

test('delete shows the impact in colours, without visible escape sequences', {
  skip: NO_TERMINAL ?? false,
}, async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const path = '/apis/apps/v1/namespaces/default/daemonsets';
  const spec = { nodeSelector: { tier: 'gold' }, containers: [{ name: 'main', image: 'main' }] };
  const template = { metadata: { labels: { app: 'bird' } }, spec };
  const selector = { matchLabels: { app: 'bird' } };
  await raw(testEnv.cluster()).expect('POST', path, { metadata: { name: 'bird' }, spec: { selector, template } });
  t.after(() => raw(testEnv.cluster()).expect('DELETE', `${path}/bird`));
  const terminal = openTerminal(t, testEnv.cluster(), ['delete', 'web'], { columns: 120 });
  const screen = await terminal.shows(/\[y\/N\]/);
  assert.match(screen, /^Impact:\n- label tier=gold on 1 node/m);
  assert.doesNotMatch(screen, /\\u001b/);
  assert.ok(terminal.written().includes('\u001b[1mImpact:\u001b[22m'), terminal.written());
  terminal.type('n{enter}');
  await terminal.exit;
});
