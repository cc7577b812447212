/** The cost of ten times the nodes on the same server, and an extrapolation. */
import type { Figure } from './figure.ts';
import type { RaceResult, Result } from './race.ts';
import { median } from './statistics.ts';

/** Ten times the nodes, and 10 % tolerance. */
const MOST = 11;
/** The sizes of the largest known clusters. */
const SIZES = [65_000, 100_000, 130_000];

type Quantity = 'seconds' | 'rss';

/** Time and memory of each command with all nodes, as multiples of those with a tenth. */
export function growth(tenth: RaceResult, all: RaceResult): Figure[] {
  return pairs(tenth, all).flatMap(({ small, large }, index): Figure[] => {
    const grown = (quantity: Quantity) => middle(large, quantity) / middle(small, quantity);
    const limit = index === 0 ? {} : { most: MOST };
    return [
      { name: `${large.name}: time`, value: grown('seconds'), unit: 'x', ...limit },
      { name: `${large.name}: peak memory`, value: grown('rss'), unit: 'x', ...limit },
    ];
  });
}

/** @param nodes of `all`; `tenth` was measured with a tenth of them */
export function extrapolation(nodes: number, tenth: RaceResult, all: RaceResult): Figure[] {
  return pairs(tenth, all).flatMap(({ small, large }) =>
    SIZES.flatMap((size): Figure[] => {
      const at = (quantity: Quantity) => {
        const more = (middle(large, quantity) - middle(small, quantity)) / (nodes * 0.9);
        return middle(large, quantity) + more * (size - nodes);
      };
      const name = `${large.name}, ${size.toLocaleString('en')} nodes`;
      return [
        { name: `${name}: time`, value: at('seconds'), unit: 's' },
        { name: `${name}: peak memory`, value: at('rss'), unit: 'MB' },
      ];
    }),
  );
}

function pairs(tenth: RaceResult, all: RaceResult): { small: Result; large: Result }[] {
  const before = [tenth.peer, ...tenth.others];
  return [all.peer, ...all.others].flatMap((large, index) => {
    const small = before[index];
    return small === undefined ? [] : [{ small, large }];
  });
}

function middle({ samples }: Result, quantity: Quantity): number {
  return median(samples.map(sample => sample[quantity]));
}
