/** Names as EKS, GKE and AKS give them to nodes, at the widths that tables on terminals of 80 columns leave for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutNames, namesText, nodesText, shortNames } from '../../../src/print/names.ts';
import { AKS, EKS, GKE } from '../../cloud-names.ts';

const cutAll = (names: readonly string[], width: number) => names.map(cutNames(names, width));

for (const [cloud, names, least] of [
  ['EKS', EKS, 13],
  ['GKE', GKE, 10],
  ['AKS', AKS, 10],
] as const) {
  test(`${cloud}: 18 names still differ at every width from ${least} on`, () => {
    assert.equal(new Set(names).size, 18);
    for (let width = least; width <= 60; width++) {
      const shown = cutAll(names, width);
      assert.equal(new Set(shown).size, 18, `${width}: ${shown}`);
      for (const name of shown) assert.ok(name.length <= width, `${width}: ${name}`);
    }
  });
}

test('keeps the start of names with a domain, and both ends if tails differ', () => {
  assert.deepEqual(cutAll(EKS.slice(0, 2), 24), ['ip-10-0-1-10…', 'ip-10-0-1-11…']);
  assert.deepEqual(cutAll(GKE.slice(0, 2), 24), ['gke-prod-eur…3c1d2e-a1b2', 'gke-prod-eur…3c1d2e-c3d4']);
  assert.deepEqual(cutAll(AKS.slice(0, 2), 16), ['aks-node…s000000', 'aks-node…s000001']);
});

test('keeps names that fit, and cuts a single name like several', () => {
  assert.deepEqual(cutAll(['short', ...EKS.slice(0, 2)], 20), ['short', 'ip-10-0-1-10…', 'ip-10-0-1-11…']);
  assert.deepEqual(cutAll(EKS.slice(0, 1), 20), ['ip-10-0-1-10…']);
  assert.deepEqual(cutAll(GKE.slice(0, 1), 42), ['gke-prod-europe-west4…ackend-8f3c1d2e-a1b2']);
  assert.deepEqual(cutAll(['a', 'b'], 1), ['a', 'b']);
  assert.deepEqual(cutAll([], 5), []);
});

test('keeps the start of names with a domain beside names without one', () => {
  const shown = ['ip-10-0-1-10…', 'gke-prod-eur…3c1d2e-a1b2'];
  assert.deepEqual(cutAll([EKS[0] ?? '', GKE[0] ?? ''], 24), shown);
});

test('keeps the middle if names differ only there', () => {
  const names = ['a', 'b', 'c'].map(pool => `production-europe-${pool}-of-the-batch-workers-x`);
  assert.equal(new Set(cutAll(names, 12)).size, 3);
});

test('cuts later names in the same way', () => {
  const shorten = cutNames(GKE, 20);
  assert.equal(shorten(`${GKE[0]}x`).length, 20);
  assert.equal(shorten('node-1'), 'node-1');
});

test('cuts thousands of names quickly, and wide characters by their width', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => `ip-10-0-${i >> 8}-${i & 255}.eu-west-1.compute.internal`);
  assert.equal(new Set(cutAll(many, 18)).size, 5_000);
  assert.deepEqual(cutAll(['节点池已更新'], 5), ['节点…']);
});

test('names three nodes and counts the others', () => {
  assert.deepEqual(
    [nodesText([]), nodesText(['a']), nodesText(['a', 'b', 'c', 'd'])],
    ['0 nodes', '1 node (a)', '4 nodes (a, b, c and 1 more)'],
  );
  assert.equal(nodesText(EKS), '18 nodes (ip-10-0-1-10…, ip-10-0-1-11…, ip-10-0-1-12… and 15 more)');
  // Names without a domain need the space of two.
  assert.equal(namesText(GKE), `${GKE[0]} and 17 more`);
});

test('leaves out domains of names that differ without them', () => {
  assert.equal(namesText(EKS.slice(0, 1)), EKS[0]);
  assert.equal(namesText(['node.a', 'node.b', 'x.a']), 'node.a, node.b, x…');
  assert.equal(namesText(['10.0.1.5', '172.16.0.9', EKS[0] ?? '']), '10.0.1.5, 172.16.0.9, ip-10-0-1-10…');
  const zones = [
    ['a.zone1.x', 'b.zone1.x'],
    ['a.zone2.x', 'b.zone2.x', 'c.zone2.x'],
  ];
  const short = shortNames(zones.flat());
  assert.deepEqual(
    zones.map(names => namesText(names, short)),
    ['a.zone1.x, b.zone1.x', 'a.zone2.x, b.zone2.x, c…'],
  );
});
