/** The page scripts as source text, each with the functions it uses. */
import * as acts from '@berth/page-scripts/act/act.ts';
import * as drags from '@berth/page-scripts/act/drag.ts';
import * as fingerprints from '@berth/page-scripts/locate/fingerprint.ts';
import * as finds from '@berth/page-scripts/locate/find.ts';
import * as hits from '@berth/page-scripts/act/hits.ts';
import * as leaving from '@berth/page-scripts/act/leaving.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import * as typing from '@berth/page-scripts/act/typing.ts';
import * as reads from '@berth/page-scripts/read/read.ts';

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
