/** Fails where openapi.json breaks a rule of `redocly.yaml`, warnings included. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { lintFromString, loadConfig } from '@redocly/openapi-core';

const root = new URL('../..', import.meta.url);
const file = fileURLToPath(new URL('openapi.json', root));
const config = await loadConfig({ configPath: fileURLToPath(new URL('redocly.yaml', root)) });
const problems = await lintFromString({ source: await readFile(file, 'utf8'), absoluteRef: file, config });
for (const { ruleId, message, location } of problems) console.error(`${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
if (problems.length > 0) process.exitCode = 1;
