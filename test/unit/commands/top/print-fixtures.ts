/** What the tests of the outputs of `top` share. */

export const SHOWN = { headers: true, everyResource: false, terminal: undefined };
const byNode = new Map([
  ['w1', { cpu: '123456789n', memory: '500Mi' }],
  ['g1', { cpu: '9500m', memory: '31Gi' }],
]);
export const MEASURED = { usage: { kind: 'served' as const, byNode } };
