/** The kind before a name, as `-o name` prints it. */

export const POOL_KIND = /^(?:nodepools?|npool|pools?)(?:\.nodes\.lailin\.xyz)?\//;
export const NODE_KIND = /^nodes?\//;
