/** Fields of custom resources that name labels of nodes: well-known ones, and those that the user names. */

import type { SelectorPath } from '../../../kube/ports/impact.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';

/** Their loss takes a cluster's network down: they are looked at wherever the server serves them. */
export const WELL_KNOWN: readonly SelectorPath[] = [
  'bgppeers.crd.projectcalico.org:.spec.nodeSelector',
  'bgppeers.crd.projectcalico.org:.spec.peerSelector',
  'ippools.crd.projectcalico.org:.spec.nodeSelector',
  'ciliumbgpclusterconfigs.cilium.io:.spec.nodeSelector',
  'ciliumbgppeeringpolicies.cilium.io:.spec.nodeSelector',
  'ciliumegressgatewaypolicies.cilium.io:.spec.egressGateway.nodeSelector',
  'ciliuml2announcementpolicies.cilium.io:.spec.nodeSelector',
  'bgpadvertisements.metallb.io:.spec.nodeSelectors',
  'bgppeers.metallb.io:.spec.nodeSelectors',
  'l2advertisements.metallb.io:.spec.nodeSelectors',
].map(text => parse(text, 'a well-known path'));

/** `RESOURCE.GROUP:.FIELD.FIELD`. Throws NodepoolError. @param where for the error, such as `--impact-path` */
export function parseSelectorPaths(texts: readonly string[], where: string): SelectorPath[] {
  return texts.map(text => parse(text, where));
}

/** Of the command line: one whose resource the server does not serve is an error. */
export function givenSelectorPaths(texts: readonly string[], flag: string): SelectorPath[] {
  return texts.map(text => ({ ...parse(text, flag), given: `${flag}: "${text}"` }));
}

function parse(text: string, where: string): SelectorPath {
  const match = /^([a-z0-9-]+\.[a-z0-9.-]+):((?:\.[A-Za-z0-9_-]+)+)$/.exec(text);
  const [, resource, path] = match ?? [];
  if (resource === undefined || path === undefined) {
    throw new NodepoolError(
      'usage',
      `${where}: "${text}" is not a resource and a field`,
      'write it as bgppeers.crd.projectcalico.org:.spec.nodeSelector',
    );
  }
  return { resource, fields: path.slice(1).split('.') };
}
