#!/usr/bin/env node
import { start } from '../src/main.ts';

await start();
