/** Waits until its stdin ends, as it does when the program that started the node ends, and removes what is left of the node. */
import { rm } from 'node:fs/promises';
import { removeCgroups } from './cgroups.ts';

const [dir = '', cgroup = ''] = process.argv.slice(2);

process.stdin.resume().on('end', async () => {
  await removeCgroups(cgroup);
  // The kubelet and containerd may just be ending.
  await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});
