/** All tools, in the order in which a client lists them. */
import { act } from './tools/act.ts';
import { extract, read } from './tools/read.ts';
import { fetchPage, inspect } from './tools/web.ts';
import { files } from './tools/files.ts';
import { handOver } from './tools/hand-over.ts';
import { network } from './tools/network.ts';
import { end, open, tabs } from './tools/session.ts';
import { run } from './tools/flows.ts';
import { screenshot, snapshot } from './tools/look.ts';
import type { Tool } from './tool.ts';

export const tools: readonly Tool[] = [
  open,
  snapshot,
  act,
  read,
  extract,
  screenshot,
  tabs,
  network,
  files,
  fetchPage,
  inspect,
  run,
  handOver,
  end,
];
