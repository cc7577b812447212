/** The entry of the single executable, which carries manifests/ beside it (scripts/build-bin.ts). */
import { fileURLToPath } from 'node:url';
import { start } from '../src/main.ts';

declare const Bun: { gc(wait: boolean): void };

// The process ends within a second or stands for weeks: either way memory is worth more than the 20 ms of a collection.
globalThis.gc = async () => Bun.gc(true);
// By a link of this name kubectl's completion finds it.
if (/(^|[/\\])kubectl_complete-nodepool(\.exe)?$/.test(process.argv0)) process.argv.splice(2, 0, '__complete');
await start(fileURLToPath(new URL('.', import.meta.url)));
