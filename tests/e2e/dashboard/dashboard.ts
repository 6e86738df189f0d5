/** The dashboard in a real browser: a service, somebody who signed in, and checks that hold for each of its pages. */
import { join } from 'node:path';
import { adminKey, startApp, type AppOptions, type TestApp } from '../../harness.ts';
import { Service, type ServiceOptions } from '../service.ts';
import { ViewerBrowser, type Viewer } from '../watch/viewing.ts';

const screenshots = process.env['BERTH_TEST_SCREENSHOTS'];
const phone = { width: 390, height: 844 };
const desktop = { width: 1440, height: 900 };

/** What a service is to a dashboard: the test service of the API tests, or one with real browsers. */
interface Served {
  url: string;
  key: string;
  adminKey: string;
  /** A login token of an organisation; not of a service with real browsers. */
  login?: TestApp['login'];
}

type CredentialKind = 'key' | 'login' | 'admin';

const signInFields: Record<CredentialKind, string> = { key: 'API key', login: 'Login token', admin: 'Admin key' };

/** One browser and one service for all tests of a file. */
export class DashboardTest {
  readonly served: Served;
  /** The service with simulated machines; undefined with real ones. */
  readonly app: TestApp | undefined;
  /** The service with real machines; undefined with simulated ones. */
  readonly service: Service | undefined;
  readonly #browser: ViewerBrowser;

  private constructor(browser: ViewerBrowser, { app, service }: { app?: TestApp; service?: Service }) {
    this.#browser = browser;
    this.app = app;
    this.service = service;
    if (app) this.served = { url: app.url, key: app.key, adminKey, login: app.login };
    else if (service) this.served = { url: service.url, key: service.key, adminKey: service.adminKey };
    else throw new Error('a dashboard needs a service');
  }

  /** Starts a service with the simulated machines of the API tests: quick, and enough for all that is not a live browser. */
  static async withFakes(options: AppOptions = {}): Promise<DashboardTest> {
    const { browser, service: app } = await startBoth(startApp(options));
    return new DashboardTest(browser, { app });
  }

  /** Starts a service with real browsers. */
  static async withBrowsers(options: ServiceOptions = {}): Promise<DashboardTest> {
    const { browser, service } = await startBoth(Service.start(options));
    return new DashboardTest(browser, { service });
  }

  /** Opens a page of the dashboard, such as `/sessions`, in a window of its own. Signs in with each of these first. */
  async open(path = '', { as = ['key'] }: { as?: readonly CredentialKind[] } = {}): Promise<DashboardViewer> {
    const viewer = await this.#browser.newViewer({
      origin: this.served.url,
      viewport: desktop,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const opened = new DashboardViewer(viewer, this.served.url);
    const { url } = this.served;
    const [first, ...others] = as;
    await viewer.open(`${url}/dashboard${first === undefined ? path : '/sign-in'}`);
    if (first === undefined) return opened;
    await opened.signIn(first, await this.credential(first));
    for (const kind of others) {
      await opened.go('/sign-in');
      await opened.signIn(kind, await this.credential(kind));
    }
    await opened.go(path);
    return opened;
  }

  async credential(kind: CredentialKind): Promise<string> {
    if (kind === 'key') return this.served.key;
    if (kind === 'admin') return this.served.adminKey;
    if (!this.served.login) throw new Error('only the test service issues login tokens');
    return this.served.login();
  }

  async close(): Promise<void> {
    await Promise.all([this.#browser.close(), this.app?.close(), this.service?.close()]);
  }
}

/** Starts a browser and a service; if one does not start, closes the other. */
async function startBoth<S extends { close(): Promise<unknown> }>(starting: Promise<S>): Promise<{ browser: ViewerBrowser; service: S }> {
  const [browser, service] = await Promise.allSettled([ViewerBrowser.launch(), starting]);
  if (browser.status === 'fulfilled' && service.status === 'fulfilled') return { browser: browser.value, service: service.value };
  const failures = await Promise.all(
    [browser, service].map(async (each) => (each.status === 'fulfilled' ? void (await each.value.close()) : each.reason)),
  );
  throw new Error('the dashboard did not start', { cause: failures.find((failure) => failure !== undefined) });
}

/** A window with the dashboard. `page` is Playwright's. */
export class DashboardViewer {
  readonly viewer: Viewer;
  readonly #url: string;

  constructor(viewer: Viewer, url: string) {
    this.viewer = viewer;
    this.#url = url;
  }

  get page(): Viewer['page'] {
    return this.viewer.page;
  }

  /** Goes to a page as a link does: without a reload, which would forget the credentials. */
  async go(path: string): Promise<void> {
    await this.page.evaluate((to) => {
      history.pushState(null, '', to);
      dispatchEvent(new PopStateEvent('popstate'));
    }, `/dashboard${path}`);
  }

  /** Fills in the sign-in form that is shown, and waits until it has been taken. */
  async signIn(kind: CredentialKind, credential: string): Promise<void> {
    // The name of the field has all kinds that it takes; that of a page that asks for one has this alone.
    const field = this.page.getByRole('textbox', { name: signInFields[kind] });
    await field.fill(credential);
    await field.press('Enter');
    await this.page
      .getByText(/^Signed in with .*/)
      .filter({ hasText: kind === 'login' ? 'login' : kind === 'key' ? 'API' : 'admin' })
      .waitFor();
  }

  /** Presses Tab until the control of this name has the focus. Fails where the focus cannot be seen. */
  async reach(name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    for (let presses = 0; presses < 120; presses += 1) {
      const focus = await this.page.evaluate(() => {
        const element = document.activeElement as HTMLElement | null;
        const label =
          element?.getAttribute('aria-label') ?? (element as HTMLInputElement | null)?.labels?.[0]?.textContent ?? element?.textContent;
        // A field with an icon is outlined together with it, and the picture of a page by a ring.
        const isOutlined = [element, element?.parentElement].some((each) => each && getComputedStyle(each).outlineStyle !== 'none');
        const isRinged = element?.parentElement?.querySelector('.focus-ring')?.checkVisibility() === true;
        const isShown = !element || element.matches('body, main') || (element.checkVisibility() && (isOutlined || isRinged));
        return { label: label?.trim() ?? '', isShown };
      });
      if (!focus.isShown && focus.label !== '') throw new Error(`the focus of “${focus.label.slice(0, 60)}” is not visible`);
      if (focus.label === name) return;
      await this.page.keyboard.press(key);
    }
    throw new Error(`“${name}” cannot be reached`);
  }

  /**
   * Fails on accessibility violations in light and dark, and of the console. With BERTH_TEST_SCREENSHOTS it leaves
   * `NAME-light.png`, `NAME-dark.png` and the same of a phone.
   */
  async inspect(name: string): Promise<void> {
    await this.viewer.inspect(`dashboard-${name}`);
    if (!screenshots) return;
    await this.page.setViewportSize(phone);
    for (const scheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme: scheme });
      await this.page.screenshot({ path: join(screenshots, `dashboard-${name}-phone-${scheme}.png`) });
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.page.setViewportSize(desktop);
  }

  /** The service's address, without a slash at its end. */
  get url(): string {
    return this.#url;
  }

  close(): Promise<void> {
    return this.viewer.close();
  }
}
