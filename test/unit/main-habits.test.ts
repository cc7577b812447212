/** What a kubectl user types first, and the command line alone decides: the error names what to type, on one line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { main } from '../../src/main.ts';
import { testIo } from './cli/test-io.ts';

/** The words after `kubectl nodepool`, and what the error has to contain. */
const HABITS: [line: string, said: RegExp][] = [
  ['ls', /next: kubectl nodepool get$/m],
  ['list', /next: kubectl nodepool get$/m],
  ['get --all', /next: leave it out: without names, all pools/],
  ['view web', /kubectl nodepool view/],
  ['create web3 --runtime-class runc', /next: kubectl nodepool create NAME --handler HANDLER/],
  ['get --password=secret', /^error: unknown flag --password; next: set the user in the kubeconfig/],
  ['get --raw /api', /next: kubectl get --raw PATH$/m],
  ['describe-pool web', /next: kubectl nodepool describe NAME$/m],
  ['explain', /next: kubectl explain npool\.spec$/m],
  ['create pool web2', /leave out "pool"/],
  ['create --name web3', /next: kubectl nodepool create NAME$/m],
  ['create web3 --min-size 1', /creates no machines/],
  ['create web3 --node web-1', /did you mean --nodes\?/],
  ['create web3 --labels a=b', /did you mean --label\?/],
  ['apply -f pool.yaml', /next: kubectl apply -f FILE/],
  ['label web a=b', /next: kubectl nodepool edit NAME --label KEY=VALUE/],
  ['taint web dedicated=x:NoSchedule', /next: kubectl nodepool edit NAME --taint/],
  ['edit web a=b', /next: kubectl nodepool edit NAME --label a=b$/m],
  ['edit web a-', /next: kubectl nodepool edit NAME --label a-$/m],
  ['edit web dedicated=x:NoSchedule', /next: kubectl nodepool edit NAME --taint dedicated=x:NoSchedule$/m],
  ['edit node web-1', /`kubectl edit node web-1`/],
  ['edit web --overwrite', /next: leave it out/],
  ['edit web --node web-1', /next: kubectl nodepool add NAME NODE\.\.\., or/],
  ['edit -f pool.yaml', /next: kubectl apply -f FILE/],
  ['edit -l team=a --label tier=b', /next: kubectl nodepool get -l SELECTOR -o name, then kubectl nodepool edit NAME/],
  ['create -k .', /next: kubectl kustomize DIR \| kubectl nodepool create -f -$/m],
  ['create web3 --replicas=3', /creates no machines/],
  ['create web3 -l a=b', /--node-selector KEY=VALUE to select nodes/],
  ['describe web -o yaml', /next: kubectl nodepool get NAME -o yaml$/m],
  ['diff --summary', /next: leave it out: equal changes share one block, and the last line counts all nodes/],
  ['diff -f p --prune', /next: leave it out: diff -f ignores pools that are in no file/],
  ['reconcile -f pool.yaml', /next: kubectl apply -f FILE/],
  ['get -f pool.yaml', /next: name a pool/],
  ['remove web web-1 -o yaml', /next: leave it out; kubectl nodepool nodes NAME -o yaml/],
  ['remove web-1 --from web', /next: kubectl nodepool remove NAME NODE\.\.\.$/m],
  ['add web-1 --to web', /next: kubectl nodepool add NAME NODE\.\.\.$/m],
  ['diff --exit-code', /next: leave it out: the exit code is 1/],
  ['add web --node web-1', /next: kubectl nodepool add NAME NODE/],
  ['nodes web --show-labels', /next: kubectl nodepool nodes POOL -L KEY/],
  ['untaint web', /next: kubectl nodepool edit NAME --taint KEY-$/m],
  ['pause web', /next: kubectl nodepool rollout pause NAME$/m],
  ['plan', /next: kubectl nodepool diff$/m],
  ['ui', /next: kubectl nodepool view$/m],
  ['rename web web2', /next: kubectl nodepool create NEW/],
  ['scale web --replicas=3', /creates no machines/],
  ['rollout pause --all', /next: kubectl nodepool rollout ACTION NAME/],
  ['restart web', /next: kubectl nodepool reconcile/],
  ['exec web', /next: kubectl exec/],
  ['events --field-selector type=Warning', /next: kubectl get events/],
  ['events --types=Warning', /next: kubectl get events/],
  ['logs', /next: kubectl nodepool events/],
  ['config view', /next: kubectl config/],
  ['drain web --delete-local-data', /next: kubectl nodepool drain NAME --delete-emptydir-data$/m],
  ['rm web', /next: kubectl nodepool delete NAME$/m],
  ['delete web --force', /next: leave it out/],
  ['delete -k .', /next: kubectl kustomize DIR \| kubectl nodepool delete -f -$/m],
  ['delete -f pool.yaml web', /cannot be used with names, -l or --all/],
];

for (const [line, said] of HABITS) {
  test(line, async () => {
    const io = testIo();
    assert.equal(await main(line.split(' '), io, ''), 2);
    assert.match(io.stderrText(), said);
    assert.ok(io.stderrText().trimEnd().split('\n').length <= 2, io.stderrText());
  });
}
