/**
 * The floor for a controller: watches the metadata of nodes and sends a bare merge patch for every change of the label.
 * No cache, no plan, no guard, no events. Reads {server, ca, cert, key, label, wanted} as JSON from stdin, writes a
 * line when it watches, and runs until it is killed.
 */
import { Agent, get } from 'node:https';
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
  get(new URL('/api/v1/nodes?watch=true', server), { agent, headers }, response => {
    started();
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) answer(JSON.parse(line).object.metadata);
    });
    response.on('end', () => watch(() => {}));
  });
}

function answer({ name, labels }: { name: string; labels: Record<string, string> }): void {
  if (labels[label] === wanted) return;
  void barePatch(agent, server, name, { metadata: { labels: { [label]: wanted } } }, 'floor/1.0');
}
