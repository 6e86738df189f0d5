/** Connects Playwright and Puppeteer, which are installed by the caller. */

/* oxlint-disable typescript/consistent-type-imports -- an import of a package that is missing is an error; such a type is `any`. */
/** @ts-ignore The package is optional. */
export type PlaywrightBrowser = import('playwright-core').Browser;
/** @ts-ignore The package is optional. */
export type PuppeteerBrowser = import('puppeteer-core').Browser;
/* oxlint-enable typescript/consistent-type-imports */

interface Playwright {
  chromium: { connectOverCDP(address: string): Promise<PlaywrightBrowser> };
}
interface Puppeteer {
  connect(options: { browserWSEndpoint: string; defaultViewport: null }): Promise<PuppeteerBrowser>;
}

export const connectPlaywright = async (address: string): Promise<PlaywrightBrowser> =>
  (await importFirst<Playwright>(['playwright-core', 'playwright'])).chromium.connectOverCDP(address);

/** The session has its own viewport, which Puppeteer would change. */
export const connectPuppeteer = async (address: string): Promise<PuppeteerBrowser> =>
  (await importFirst<Puppeteer>(['puppeteer-core', 'puppeteer'])).connect({ browserWSEndpoint: address, defaultViewport: null });

/** The first package that is installed. */
async function importFirst<T>(names: readonly [string, string]): Promise<T> {
  for (const name of names) {
    try {
      // A variable, so that bundlers do not look for a package that is not there.
      const module = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { default?: T } & T;
      return module.default ?? module;
    } catch (error) {
      if (!isMissing(error, name)) throw error;
    }
  }
  throw new TypeError(`Install ${names[0]} first: npm install ${names[0]}`);
}

/** A package that is there and cannot load one of its own has another problem. */
const isMissing = (error: unknown, name: string): boolean =>
  (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND' && (error as Error).message.includes(`'${name}'`);
