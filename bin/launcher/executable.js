/** The executable of this platform, which npm installs as an optional dependency. CommonJS, and runs on Node 18 too. */

/** Only glibc has a version in Node's report. */
function isMusl() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** Its path; undefined where the package has none, or it is not installed. */
exports.executablePath = () => {
  const libc = process.platform === 'linux' && isMusl() ? '-musl' : '';
  const program = process.platform === 'win32' ? 'kubectl-nodepool.exe' : 'kubectl-nodepool';
  try {
    return require.resolve(`@kubectl-nodepool/${process.platform}-${process.arch}${libc}/bin/${program}`);
  } catch {
    return undefined;
  }
};
