/** How the unit tests are run. */

/** In one process: most take longer to start than to run. Not those that start others or take hold of signals. */
export function sharesProcess(file: string): boolean {
  return /^test\/unit\/(?!cli\/(editor|signals)\.|commands\/drain\/show-drain\.|linear\/|main\.)/.test(file);
}
