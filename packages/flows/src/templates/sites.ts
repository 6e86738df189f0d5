import { z } from 'zod';
import { checkLinks, healthCheck, monitorChange, webVitals } from '../catalog/checks.ts';
import { sitemap } from '../catalog/sitemap.ts';
import { Url } from '../inputs.ts';
import { defineTemplate } from '../template.ts';

export const siteAudit = defineTemplate({
  name: 'site_audit',
  title: 'Audit a page',
  description: 'Checks the health of a page, measures its Web Vitals, and finds broken links.',
  version: '1',
  category: 'monitoring',
  inputs: z.strictObject({ url: Url }),
  output: z.object({
    health: healthCheck.output.describe('Status and time to load.'),
    vitals: webVitals.output.describe('Web Vitals.'),
    links: checkLinks.output.describe('Broken links.'),
  }),
  example: { url: 'https://example.com/' },
  uses: [healthCheck, webVitals, checkLinks],
  steps: [
    {
      type: 'call',
      task: 'health_check',
      inputs: { url: '{{inputs.url}}' },
      save_as: 'health',
      description: 'Check that the page is there.',
    },
    { type: 'call', task: 'web_vitals', inputs: { url: '{{inputs.url}}' }, save_as: 'vitals', description: 'Measure how it loads.' },
    { type: 'call', task: 'check_links', inputs: { url: '{{inputs.url}}' }, save_as: 'links', description: 'Request its links.' },
  ],
});

export const changeMonitor = defineTemplate({
  name: 'change_monitor',
  title: 'Watch a page',
  description: 'Compares a page with an earlier run, and returns a screenshot, whether or not it has changed.',
  version: '1',
  category: 'monitoring',
  inputs: monitorChange.inputs as z.ZodObject,
  output: z.object({
    change: monitorChange.output.describe('What has changed, and the baseline for the next run.'),
    picture: z.record(z.string(), z.unknown()).describe('Screenshot of the page.'),
  }),
  example: monitorChange.example,
  uses: [monitorChange],
  steps: [
    {
      type: 'call',
      task: 'monitor_change',
      inputs: { url: '{{inputs.url}}', selectors: '{{inputs.selectors}}', ignore: '{{inputs.ignore}}', baseline: '{{inputs.baseline}}' },
      save_as: 'change',
      description: 'Compare the page with the baseline.',
    },
    { type: 'screenshot', format: 'jpeg', quality: 60, save_as: 'picture', description: 'Take a screenshot.' },
  ],
});

export const sitemapToMarkdown = defineTemplate({
  name: 'sitemap_to_markdown',
  title: 'Read the pages of a sitemap',
  description: 'Reads the sitemap of a site, and returns its first pages as Markdown, at most ten.',
  version: '1',
  category: 'crawling',
  inputs: z.strictObject({
    url: Url,
    max_urls: z.int().min(1).max(10).default(5).describe('Number of pages to read, 1 to 10. Default: 5.'),
  }),
  output: z.object({
    sitemap: sitemap.output.describe('The pages of the sitemap that were read.'),
    markdown: z.array(z.string()).describe('Main content of each page.'),
  }),
  example: { url: 'https://example.com/' },
  uses: [sitemap],
  steps: [
    {
      type: 'call',
      task: 'sitemap',
      inputs: { url: '{{inputs.url}}', max_urls: '{{inputs.max_urls}}' },
      save_as: 'sitemap',
      description: 'Read the sitemap.',
    },
    {
      type: 'for_each',
      over: '{{vars.sitemap.urls}}',
      as: 'page',
      max: 10,
      description: 'Read each page.',
      steps: [
        { type: 'navigate', url: '{{vars.page.url}}', wait_until: 'domcontentloaded' },
        { type: 'markdown', only_main_content: true, save_as: 'markdown[]' },
      ],
    },
  ],
});
