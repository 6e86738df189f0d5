/** The page scripts of flows as source text, each with the functions it uses. */
import * as consent from '@berth/page-scripts/act/consent.ts';
import * as cssPaths from '@berth/page-scripts/locate/css-paths.ts';
import * as documents from '@berth/page-scripts/read/site/documents.ts';
import * as forms from '@berth/page-scripts/act/forms.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import * as pagination from '@berth/page-scripts/read/pagination.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import * as sitemaps from '@berth/page-scripts/read/site/sitemaps.ts';
import * as structured from '@berth/page-scripts/read/structured-data.ts';
import * as vitals from '@berth/page-scripts/read/site/vitals.ts';
import * as words from '@berth/page-scripts/read/words.ts';

export const flowScripts = {
  ...scriptsOf(structured, shared),
  ...scriptsOf(forms, structured, shared),
  ...scriptsOf(cssPaths, shared),
  ...scriptsOf(consent, words, cssPaths, shared),
  ...scriptsOf(documents, vitals),
  ...scriptsOf(sitemaps),
  ...scriptsOf(pagination, words, cssPaths, shared),
};
