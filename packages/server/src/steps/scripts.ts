/** The page scripts as source text, each with the functions it uses. */
import * as acts from '../page-scripts/act.ts';
import * as drags from '../page-scripts/drag.ts';
import * as fingerprints from '../page-scripts/fingerprint.ts';
import * as finds from '../page-scripts/find.ts';
import * as hits from '../page-scripts/hits.ts';
import * as leaving from '../page-scripts/leaving.ts';
import * as shared from '../page-scripts/natives.ts';
import { scriptsOf } from '../page-scripts/page-scripts.ts';
import * as typing from '../page-scripts/typing.ts';
import * as reads from '../page-scripts/read.ts';

export const scripts = {
  ...scriptsOf(finds, shared),
  ...scriptsOf(acts, shared),
  ...scriptsOf(reads, finds, shared),
  ...scriptsOf(drags, shared),
  ...scriptsOf(fingerprints, finds, shared),
  ...scriptsOf(leaving),
  ...scriptsOf(hits, shared, leaving),
  ...scriptsOf(typing, hits, shared, leaving),
};
