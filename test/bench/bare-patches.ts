/**
 * The floor: the same changes as bare merge patches, from a process that does nothing else. No list, no plan, no guard.
 * Reads {server, ca, cert, key, connections, patches: [{name, body}]} as JSON from stdin.
 */
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';

interface Order {
  server: string;
  ca: string;
  cert: string;
  key: string;
  connections: number;
  patches: { name: string; body: unknown }[];
}

const { server, ca, cert, key, connections, patches }: Order = JSON.parse(await text(process.stdin));
const agent = new Agent({ keepAlive: true, maxSockets: connections, ca, cert, key });
const queue = patches.values();
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (const { name, body } of queue) await patch(`/api/v1/nodes/${name}`, JSON.stringify(body));
  }),
);
agent.destroy();

function patch(path: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, server), { method: 'PATCH', agent, headers }, response => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
