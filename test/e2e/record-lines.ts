/** Runs each argument as a command line, in turn, as bin/dev.ts runs one; record-modules.ts sees what all of them load. */
import { fileURLToPath } from 'node:url';
import { processIo } from '../../src/cli/io.ts';
import { main } from '../../src/main.ts';

const io = processIo(process);
for (const line of process.argv.slice(2)) {
  const code = await main(line.split(' '), io, fileURLToPath(new URL('../../', import.meta.url)));
  // It refuses, without a terminal.
  if (code !== (line === 'view' ? 2 : 0)) process.exit(1);
}
