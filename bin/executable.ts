/** The entry of the single executable, which carries manifests/ beside it (scripts/build-bin.ts). */
import { fileURLToPath } from 'node:url';
import { start } from '../src/main.ts';

await start(fileURLToPath(new URL('.', import.meta.url)));
