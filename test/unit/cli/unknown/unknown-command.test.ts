import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownCommand } from '../../../../src/cli/unknown/unknown-command.ts';

const COMMANDS = ['get', 'create', 'delete'];
const errorOf = (name: string) => {
  const { message, next } = unknownCommand(name, 'kubectl nodepool', COMMANDS);
  return next === undefined ? message : `${message}; next: ${next}`;
};

const cases: [name: string, expected: RegExp][] = [
  ['ls', /^unknown command "ls"; next: kubectl nodepool get$/],
  ['list', /next: kubectl nodepool get$/],
  ['apply', /next: kubectl apply -f FILE, then kubectl nodepool reconcile/],
  ['label', /next: kubectl nodepool edit NAME --label KEY=VALUE/],
  ['taint', /next: kubectl nodepool edit NAME --taint KEY=VALUE:EFFECT/],
  ['scale', /next: kubectl nodepool add NAME NODE\.\.\. .*creates no machines/],
  ['rm', /next: kubectl nodepool delete NAME$/],
  ['describe-pool', /next: kubectl nodepool describe NAME$/],
  ['untaint', /next: kubectl nodepool edit NAME --taint KEY-$/],
  ['dashboard', /next: kubectl nodepool view$/],
  ['members', /next: kubectl nodepool nodes NAME$/],
  ['new', /next: kubectl nodepool create NAME$/],
  ['stop', /next: kubectl nodepool cordon NAME$/],
  ['start', /next: kubectl nodepool uncordon NAME$/],
  ['evacuate', /next: kubectl nodepool drain NAME$/],
  ['verify', /next: kubectl nodepool doctor, or kubectl nodepool diff$/],
  ['ctx', /next: kubectl config use-context NAME, or --context NAME/],
  [
    'maintenance',
    /next: kubectl nodepool cordon or drain NAME --reason TEXT --until TIME; kubectl nodepool uncordon NAME ends the maintenance$/,
  ],
  ['ns', /next: kubectl nodepool get; pools have no namespace/],
  ['plugin', /next: kubectl plugin list$/],
  ['crete', /^unknown command "crete"; did you mean "create"\?$/],
  ['constructor', /^unknown command "constructor"$/],
  ['--tokne=secret', /^unknown flag --tokne before the command; /],
  ['-o', /^unknown flag -o before the command; next: .*options/],
];
for (const [name, expected] of cases) test(name, () => assert.match(errorOf(name), expected));
