/**
 * The floor: the same changes as bare merge patches, without list, plan and guard.
 * Reads {server, ca, cert, key, connections, patches: [{name, body}]} as JSON from stdin.
 */
import { Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { barePatch } from './bare.ts';

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
    for (const { name, body } of queue) await barePatch(agent, server, name, body, 'floor/1.0');
  }),
);
agent.destroy();
