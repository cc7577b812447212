/**
 * The floor of what follows a cluster: watches the metadata of nodes and answers every change of the label with a bare
 * merge patch. No cache, no plan, no guard, no events. Reads {server, ca, cert, key, label, wanted} as JSON from stdin,
 * writes a line when it watches, and runs until it is killed.
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

/** For ever: a server that is busy ends the watches that are slow. A new one begins with every node as it is now. */
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
