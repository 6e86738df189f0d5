/** The page scripts of flows as source text, each with the functions it uses. */
import * as consent from '../page-scripts/consent.ts';
import * as cssPaths from '../page-scripts/css-paths.ts';
import * as documents from '../page-scripts/documents.ts';
import * as forms from '../page-scripts/forms.ts';
import * as shared from '../page-scripts/natives.ts';
import * as pagination from '../page-scripts/pagination.ts';
import { scriptsOf } from '../page-scripts/page-scripts.ts';
import * as sitemaps from '../page-scripts/sitemaps.ts';
import * as structured from '../page-scripts/structured-data.ts';
import * as vitals from '../page-scripts/vitals.ts';
import * as words from '../page-scripts/words.ts';

export const flowScripts = {
  ...scriptsOf(structured, shared),
  ...scriptsOf(forms, structured, shared),
  ...scriptsOf(cssPaths, shared),
  ...scriptsOf(consent, words, cssPaths, shared),
  ...scriptsOf(documents, vitals),
  ...scriptsOf(sitemaps),
  ...scriptsOf(pagination, words, cssPaths, shared),
};
