import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNamespaceFlags } from '../../../src/cli/base-command.ts';

/** The lines on stderr, or the error. */
function said(command: string, flags: Parameters<typeof checkNamespaceFlags>[0]): string {
  const lines: string[] = [];
  try {
    checkNamespaceFlags(flags, command, { err: line => lines.push(line), stderr: process.stderr, stderrIsTTY: false });
  } catch (error) {
    return (error as Error).message;
  }
  return lines.join('\n');
}

test('commands that only read ignore -n and -A with a note', () => {
  const note = (flag: string) => `note: pools and nodes are cluster-scoped; ${flag} is ignored`;
  assert.equal(said('get', { namespace: 'x' }), note('--namespace'));
  for (const command of ['get', 'events', 'history', 'report'])
    assert.equal(said(command, { 'all-namespaces': true }), note('--all-namespaces'));
  assert.equal(said('delete', { namespace: 'x' }), note('--namespace'));
  assert.equal(said('get', {}), '');
});

test('top accepts -A without a note, as it counts all namespaces, and refuses -n', () => {
  assert.equal(said('top', { 'all-namespaces': true }), '');
  assert.equal(said('top', { namespace: 'x' }), 'top has no --namespace: top counts the pods of all namespaces');
});

test('-A does not replace --all for commands that write', () => {
  assert.equal(said('delete', { 'all-namespaces': true }), 'delete has no --all-namespaces: pools are cluster-scoped');
});

test('a JSON log has no note', () => {
  assert.equal(said('reconcile', { namespace: 'x', 'log-format': 'json' }), '');
});
