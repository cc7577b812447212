/** The entry point of the single executable, which embeds manifests/ (scripts/build-bin.ts). */
import { fileURLToPath } from 'node:url';
import { start } from '../src/main.ts';

declare const Bun: { gc(wait: boolean): void };

// See src/controller/collect.ts: a collection takes 20 ms, and memory is worth more than that.
globalThis.gc = async () => Bun.gc(true);
// kubectl's completion runs a link of this name.
if (/(^|[/\\])kubectl_complete-nodepool(\.exe)?$/.test(process.argv0)) process.argv.splice(2, 0, '__complete');
await start(fileURLToPath(new URL('.', import.meta.url)));
