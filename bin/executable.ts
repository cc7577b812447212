/** The entry point of the single executable, which embeds manifests/ (scripts/build-bin.ts). */
import { fileURLToPath } from 'node:url';
import { start } from '../src/main.ts';

declare const Bun: { gc(wait: boolean): void; unsafe: { setJITPolicy(scale: number): void } };

/** Longer than reading 5,000 nodes takes. */
const COMPILE_AFTER_MS = 1000;

// See src/controller/collect.ts. Async for the type that Node's has: it is done when it returns.
globalThis.gc = async () => Bun.gc(true);
// Until then, functions have to run 30 times as often to be compiled (scripts/package/executable.ts).
setTimeout(() => Bun.unsafe.setJITPolicy(1), COMPILE_AFTER_MS).unref();
// kubectl's completion runs a link of this name.
if (/(^|[/\\])kubectl_complete-nodepool(\.exe)?$/.test(process.argv0)) process.argv.splice(2, 0, '__complete');
await start(fileURLToPath(new URL('.', import.meta.url)));
