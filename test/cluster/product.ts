/** How the product is started. */
import { fileURLToPath } from 'node:url';
import { executablePath, hostTarget } from '../../scripts/package/targets.ts';

/** `sources` runs the .ts files, `bundle` what `npm run build` made, `executable` what `npm run build:bin` made. */
export const PRODUCTS = ['sources', 'bundle', 'executable'] as const;
export type Product = (typeof PRODUCTS)[number];

const SOURCES = fileURLToPath(new URL('../../bin/dev.ts', import.meta.url));
const BUNDLE = fileURLToPath(new URL('../../bin/kubectl-nodepool.js', import.meta.url));

/** The one that the tests are run on: `npm test -- --product` sets it. */
export function productUnderTest(): Product {
  return PRODUCTS.find(product => product === process.env.NODEPOOL_TEST_PRODUCT) ?? 'sources';
}

/** The command line that starts the product. */
export function productCommand(product: Product = productUnderTest()): [string, ...string[]] {
  if (product === 'executable') return [executablePath(hostTarget())];
  return [process.execPath, product === 'bundle' ? BUNDLE : SOURCES];
}
