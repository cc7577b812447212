/**
 * The floor for a controller: watches the metadata of nodes and sends a bare merge patch for every change of the label.
 * No cache, no plan, no guard, no events. Reads {server, ca, cert, key, label, wanted} as JSON from stdin, writes a
 * line when it watches, and runs until it is killed.
 */
import { Agent, get } from 'node:https';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { barePatch, METADATA_ONLY } from './bare.ts';

interface Order {
  server: string;
  ca: string;
  cert: string;
  key: string;
  label: string;
  wanted: string;
}

const { server, ca, cert, key, label, wanted }: Order = JSON.parse(await text(process.stdin));
const agent = new Agent({ keepAlive: true, ca, cert, key });
const headers = { accept: `${METADATA_ONLY}, application/json` };
watch(() => process.stdout.write('watching\n'));

/** Watches forever: a busy server ends slow watches, and a new one starts with the current nodes. */
function watch(started: () => void): void {
  get(new URL('/api/v1/nodes?watch=true', server), { agent, headers }, async response => {
    started();
    for await (const line of createInterface({ input: response })) {
      const { metadata } = JSON.parse(line).object;
      if (metadata.labels[label] === wanted) continue;
      void barePatch(agent, server, metadata.name, { metadata: { labels: { [label]: wanted } } }, 'floor/1.0');
    }
    watch(() => {});
  });
}
