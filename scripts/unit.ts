/** How the unit tests are run. */

/** In one process: most take longer to start than to run. Not those that take hold of signals and the terminal. */
export function sharesProcess(file: string): boolean {
  return /^test\/unit\/(?!cli\/(editor|show-drain|signals)\.|main\.)/.test(file);
}
