/** In kubectl's form, with Go's names of platforms: `kubectl-nodepool/1.2.3 (linux/amd64)`. */
export function userAgent(version: string, platform: string, arch: string): string {
  const os = platform === 'win32' ? 'windows' : platform;
  const cpu = { x64: 'amd64', ia32: '386' }[arch] ?? arch;
  return `kubectl-nodepool/${version} (${os}/${cpu})`;
}
