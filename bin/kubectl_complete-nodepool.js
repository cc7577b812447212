#!/usr/bin/env node
// kubectl's completion runs this for `kubectl nodepool`.
process.argv.splice(2, 0, '__complete');
await import('./kubectl-nodepool.js');
