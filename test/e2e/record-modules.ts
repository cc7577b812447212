/** Preloaded with --import: writes the modules that a process loaded to the file in NODEPOOL_LOADED. */
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
