/** All flows and templates. A new one is one file, and a line here. */
import { accessibilityTree, pdf, screenshot, snapshot } from './catalog/captures.ts';
import { acceptCookies } from './catalog/accept-cookies.ts';
import { apiReplay } from './catalog/api-replay.ts';
import { checkLinks, healthCheck, monitorChange, webVitals } from './catalog/checks.ts';
import { clickPath } from './catalog/click-path.ts';
import { crawl } from './catalog/crawl.ts';
import { custom } from './catalog/custom.ts';
import { downloadFiles } from './catalog/download-files.ts';
import { extractArticle } from './catalog/extract/extract-article.ts';
import { extractLinks } from './catalog/extract/extract-links.ts';
import { extractTables } from './catalog/extract/extract-tables.ts';
import { extract } from './catalog/extract/extract.ts';
import { formFill } from './catalog/form-fill.ts';
import { login } from './catalog/login.ts';
import { paginate } from './catalog/paginate.ts';
import { scrollToEnd } from './catalog/scroll-to-end.ts';
import { search } from './catalog/search.ts';
import { sitemap } from './catalog/sitemap.ts';
import type { Flow } from './flow.ts';
import { formSubmission, invoiceDownload, loginAndDownload } from './templates/accounts.ts';
import { jobListings, newsHeadlines, searchAndCollect, tableToCsv } from './templates/lists.ts';
import { pageSnapshot } from './templates/page-snapshot.ts';
import { priceMonitor, productDetails } from './templates/products.ts';
import { changeMonitor, siteAudit, sitemapToMarkdown } from './templates/sites.ts';

export const flows: readonly Flow[] = [
  extract,
  extractTables,
  extractLinks,
  extractArticle,
  paginate,
  scrollToEnd,
  clickPath,
  acceptCookies,
  login,
  formFill,
  search,
  screenshot,
  pdf,
  snapshot,
  accessibilityTree,
  downloadFiles,
  crawl,
  sitemap,
  monitorChange,
  checkLinks,
  healthCheck,
  webVitals,
  apiReplay,
  custom,
];

export const templates: readonly Flow[] = [
  priceMonitor,
  productDetails,
  jobListings,
  newsHeadlines,
  tableToCsv,
  searchAndCollect,
  siteAudit,
  changeMonitor,
  sitemapToMarkdown,
  formSubmission,
  loginAndDownload,
  invoiceDownload,
  pageSnapshot,
];
