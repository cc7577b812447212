import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MANIFEST, manifestText } from '../../scripts/manifest.ts';

test('oclif.manifest.json equals what the commands declare', async () => {
  assert.equal(readFileSync(MANIFEST, 'utf8'), await manifestText(), 'stale: run `npm run manifest`');
});
