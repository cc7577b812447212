import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scheduledPodDecoder } from '../../../../src/kube/protobuf/scheduled-pod.ts';
import { encode, type Fields } from './encode.ts';

const decode = scheduledPodDecoder({ labels: true, placement: true });
/** A pod with an ephemeral volume whose claim has this spec. */
function claimSpecOf(claim: Fields) {
  const ephemeral = encode({ 1: encode({ 2: encode(claim) }) });
  const volume = encode({ 1: 'tmp', 2: encode({ 29: ephemeral }) });
  const [found] = decode(encode({ 2: encode({ 1: [volume] }) })).spec?.volumes ?? [];
  assert.equal(found?.name, 'tmp');
  return found.ephemeral?.volumeClaimTemplate?.spec;
}

test('keeps an empty storageClassName of an ephemeral volume claim apart from a missing one', () => {
  assert.deepEqual(claimSpecOf({ 5: '' }), { storageClassName: '' });
  assert.deepEqual(claimSpecOf({}), {});
  const requests = [encode({ 1: 'storage', 2: encode({ 1: '1Gi' }) })];
  assert.deepEqual(claimSpecOf({ 1: ['ReadWriteOnce'], 2: encode({ 2: requests }), 5: 'fast', 6: 'Block' }), {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'fast',
    volumeMode: 'Block',
  });
});
