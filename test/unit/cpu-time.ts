/** Milliseconds of CPU that this process has used: other load hardly changes what a synchronous piece of code takes of it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
