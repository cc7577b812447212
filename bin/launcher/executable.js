/** The executable of this platform, which npm installs as an optional dependency. CommonJS, and runs on Node 18 too. */
const { existsSync } = require('node:fs');
const { findPnpApi } = require('node:module');
const { basename, dirname, join } = require('node:path');

/** Only glibc has a version in Node's report. */
function isMusl() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** Whether the user wants no executable, for example while its Bun has a vulnerability, or it would abort: Bun needs /proc. */
exports.wantsNode = () =>
  process.env.KUBECTL_NODEPOOL_RUNTIME === 'node' || (process.platform === 'linux' && !existsSync('/proc/self'));

/**
 * Its path; undefined where the package has none, or it is not installed. Unlike require.resolve it looks neither into
 * folders further up nor into NODE_PATH, where anybody may have put a package of this name.
 */
exports.executablePath = () => {
  const libc = process.platform === 'linux' && isMusl() ? '-musl' : '';
  const program = process.platform === 'win32' ? 'kubectl-nodepool.exe' : 'kubectl-nodepool';
  const file = `@kubectl-nodepool/${process.platform}-${process.arch}${libc}/bin/${program}`;
  const own = dirname(dirname(__dirname));
  const beside = dirname(own);
  const paths = [join(own, 'node_modules', file)];
  if (basename(beside) === 'node_modules') paths.push(join(beside, file));
  try {
    // Yarn Plug'n'Play has no node_modules; it answers null for a package that is not of its project.
    const path = findPnpApi?.(__filename)?.resolveToUnqualified(file, __filename);
    if (path) paths.push(path);
  } catch {
    // It has none for this platform.
  }
  return paths.find(existsSync);
};
