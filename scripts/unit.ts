/** Most files start slower than they run, so they share a process, unless they start processes or handle signals. */
export function sharesProcess(file: string): boolean {
  return /^test\/unit\/(?!cli\/(editor|signals)\.|commands\/drain\/show-drain\.|main\.)/.test(file);
}
