/** Preloaded with --import: writes down which modules a run has loaded, into the file NODEPOOL_LOADED names. */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set<string>();
registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(process.env.NODEPOOL_LOADED ?? '', [...loaded].join('\n')));
