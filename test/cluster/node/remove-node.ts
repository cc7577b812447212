/** Waits until its stdin ends, which happens when the program that started the node ends. Then removes what the node left behind. */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeCgroups } from './cgroups.ts';
import { processesOf } from './processes.ts';

const [dir = '', cgroup = ''] = process.argv.slice(2);
const PROCESSES_END_MS = 60_000;

process.stdin.resume().on('end', async () => {
  // A kubelet that still runs makes its control groups and files again.
  const end = Date.now() + PROCESSES_END_MS;
  while (processesOf(dir).length > 0 && Date.now() < end) await sleep(50);
  await removeCgroups(cgroup);
  await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});
