/** How the product is started. */
import { fileURLToPath } from 'node:url';

/** `sources` runs the .ts files, `bundle` what `npm run build` made. */
export type Product = 'sources' | 'bundle';

const ENTRIES: Record<Product, URL> = {
  sources: new URL('../../bin/dev.ts', import.meta.url),
  bundle: new URL('../../bin/kubectl-nodepool.js', import.meta.url),
};

/** The command line that starts the product. For `sources`, NODEPOOL_TEST_BIN may name an executable to test instead. */
export function productCommand(product: Product = 'sources'): [string, ...string[]] {
  const executable = process.env.NODEPOOL_TEST_BIN;
  if (product === 'sources' && executable) return [executable];
  return [process.execPath, fileURLToPath(ENTRIES[product])];
}
