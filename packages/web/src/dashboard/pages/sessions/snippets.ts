/** Programs that do what the page does. The key is read from the environment: none of them contains it. */

interface CurlOptions {
  origin: string;
  path: string;
  method?: string;
  body?: unknown;
}

/** Puts a text in single quotes for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function curlOf({ origin, path, method, body }: CurlOptions): string {
  const lines = [
    `curl ${method ? `-X ${method} ` : ''}${origin}${path}`,
    '-H "Authorization: Bearer $BERTH_API_KEY"',
    ...(body === undefined ? [] : [`--json ${quoted(JSON.stringify(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

interface SessionAddresses {
  session_id: string;
  cdp_url: string;
}

/** Code that connects to a running session. */
export function snippetsOf({ session_id: id, cdp_url: address }: SessionAddresses, origin: string): { title: string; text: string }[] {
  const header = 'headers: { Authorization: `Bearer ${process.env.BERTH_API_KEY}` }';
  return [
    {
      title: 'Playwright',
      text: [
        "import { chromium } from 'playwright-core';",
        '',
        `const browser = await chromium.connectOverCDP('${address}', {`,
        `  ${header},`,
        '});',
        'const [context] = browser.contexts();',
        'const page = context.pages()[0] ?? (await context.newPage());',
        "await page.goto('https://example.com/');",
        'console.log(await page.title());',
        'await browser.close(); // disconnects',
      ].join('\n'),
    },
    {
      title: 'Puppeteer',
      text: [
        "import puppeteer from 'puppeteer-core';",
        '',
        'const browser = await puppeteer.connect({',
        `  browserWSEndpoint: '${address}',`,
        `  ${header},`,
        '  defaultViewport: null,',
        '});',
        'const [page] = await browser.pages();',
        "await page.goto('https://example.com/');",
        'console.log(await page.title());',
        'await browser.disconnect();',
      ].join('\n'),
    },
    {
      title: 'Python',
      text: [
        'import os',
        'from playwright.sync_api import sync_playwright',
        '',
        'with sync_playwright() as p:',
        `    browser = p.chromium.connect_over_cdp("${address}",`,
        '        headers={"Authorization": f"Bearer {os.environ[\'BERTH_API_KEY\']}"})',
        '    page = browser.contexts[0].pages[0]',
        '    page.goto("https://example.com/")',
        '    print(page.title())',
      ].join('\n'),
    },
    {
      title: 'MCP',
      // It runs through a shell: a server's configuration has no other way to name a variable that all its readers know.
      text: JSON.stringify(
        {
          mcpServers: {
            browser: {
              command: 'sh',
              args: ['-c', `npx -y @playwright/mcp@latest --cdp-endpoint ${address} --cdp-header "Authorization: Bearer $BERTH_API_KEY"`],
            },
          },
        },
        null,
        2,
      ),
    },
    {
      title: 'curl',
      text: [
        curlOf({ origin, path: `/v1/session/${id}/navigate`, body: { url: 'https://example.com/' } }),
        curlOf({ origin, path: `/v1/session/${id}/content?format=markdown` }).replace(/^curl (\S+)/, 'curl "$1"'),
      ].join('\n\n'),
    },
  ];
}
