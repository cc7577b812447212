#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { start } from '../src/main.ts';

await start(fileURLToPath(new URL('..', import.meta.url)));
