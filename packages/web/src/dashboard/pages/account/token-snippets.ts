/** Configurations of clients with the address of a connect token. They have the secret in them. */
export function tokenSnippets(
  { token, cdp_url: address }: { token: string | null; cdp_url: string | null },
  origin: string,
): { title: string; text: string }[] {
  if (token === null || address === null) return [];
  return [
    {
      title: 'Playwright',
      text: ["import { chromium } from 'playwright-core';", '', `const browser = await chromium.connectOverCDP('${address}');`].join('\n'),
    },
    {
      title: 'Puppeteer',
      text: [
        "import puppeteer from 'puppeteer-core';",
        '',
        `const browser = await puppeteer.connect({ browserWSEndpoint: '${address}', defaultViewport: null });`,
      ].join('\n'),
    },
    { title: 'MCP', text: JSON.stringify({ mcpServers: { berth: { type: 'http', url: `${origin}/mcp/${token}` } } }, null, 2) },
    { title: 'Command line', text: `agent-browser connect '${address}'` },
    { title: 'Address', text: address },
  ];
}
