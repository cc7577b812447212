import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintReconcile } from '../../../../../src/commands/shared/edit/next-step.ts';
import { testIo } from '../../../cli/test-io.ts';

test('wraps the hint after create and edit on a terminal, and omits it in a script', () => {
  const shown = (columns: number | undefined) => {
    const io = testIo({ stderrIsTTY: columns !== undefined });
    Object.assign(io.stderr, { columns });
    hintReconcile(['web'], io);
    return io.stderrText();
  };
  const [diff, reconcile] = [
    'next: `kubectl nodepool diff web` shows the changes,',
    '`kubectl nodepool reconcile web` applies them',
  ];
  assert.equal(shown(80), `${diff}\n      ${reconcile}\n`);
  assert.equal(shown(120), `${diff} ${reconcile}\n`);
  assert.equal(shown(undefined), '');
});
