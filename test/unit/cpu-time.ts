/** Milliseconds of CPU that this process has used: other load hardly changes the CPU time of synchronous code. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
