/** Allocatable resources of a sample node, and the sum of two such nodes. */

export const ALLOCATABLE = {
  cpu: '4',
  'ephemeral-storage': '92013256Ki',
  'hugepages-1Gi': '0',
  'hugepages-2Mi': '0',
  memory: '3064520Ki',
  pods: '110',
};

export const ALLOCATABLE_OF_TWO = {
  cpu: '8',
  'ephemeral-storage': '184026512Ki',
  'hugepages-1Gi': '0',
  'hugepages-2Mi': '0',
  memory: '6129040Ki',
  pods: '220',
};
