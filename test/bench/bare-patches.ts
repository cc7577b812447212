/**
 * The floor: the same changes as bare merge patches, without plan and guard, and without the list of nodes unless it is asked for.
 * Reads {server, ca, cert, key, connections, lists, patches: [{name, body}]} as JSON from stdin.
 */
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { bareList, barePatch } from './bare.ts';

interface Order {
  server: string;
  ca: string;
  cert: string;
  key: string;
  connections: number;
  lists: boolean;
  patches: { name: string; body: unknown }[];
}

const { server, ca, cert, key, connections, lists, patches }: Order = JSON.parse(await text(process.stdin));
const agent = new Agent({ keepAlive: true, maxSockets: connections, ca, cert, key });
if (lists) await bareList(agent, server);
const queue = patches.values();
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (const { name, body } of queue) await barePatch(agent, server, name, body, 'floor/1.0');
  }),
);
agent.destroy();
