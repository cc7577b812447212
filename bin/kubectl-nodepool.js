#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 21)) {
  process.stderr.write(`error: kubectl-nodepool needs Node 22.21 or newer, and this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  module.enableCompileCache();
  const { start } = await import('../dist/npm/main.js');
  await start(fileURLToPath(new URL('..', import.meta.url)));
}
