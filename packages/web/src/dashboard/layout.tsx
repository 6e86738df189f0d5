import { useLocation } from 'preact-iso';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Account } from './sign-in/account.tsx';
import { config } from './config.ts';
import { has, type CredentialKind } from './sign-in/credentials.ts';
import type { PageArea } from './page-entry.ts';
import { hrefOf } from './href.ts';
import { areas, isInNavigation } from './pages.ts';
import { Palette, PaletteButton } from './palette/palette.tsx';
import { Icon } from './ui/icons.tsx';

/** The frame of all pages: the navigation, beside the page on a wide screen and behind a button on a narrow one. */
export function Layout({ isLoading, children }: { isLoading: boolean; children: ComponentChildren }) {
  const { path } = useLocation();
  const main = useRef<HTMLElement>(null);
  const menu = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    menu.current?.hidePopover?.();
    // As after a click on a link of an ordinary page; the address of a first load decides by itself.
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
      main.current?.scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [path]);
  return (
    <div class="dashboard">
      <a class="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to the page
      </a>
      <header class="top">
        <button type="button" class="icon-button" popoverTarget="navigation" aria-label="Menu">
          <Icon name="menu" />
        </button>
        <Brand />
      </header>
      <nav id="navigation" class="side" popover="auto" ref={menu} aria-label="Dashboard">
        <Brand />
        <PaletteButton />
        {areas.map((area) => (
          <Area key={area.title} area={area} path={path} />
        ))}
        <Foot />
      </nav>
      <main id="main" class="main" tabIndex={-1} ref={main} aria-busy={isLoading}>
        {isLoading && <div class="progress" role="progressbar" aria-label="Loading the page" />}
        {children}
      </main>
      <Palette canOpen={isOffered} />
    </div>
  );
}

const Brand = () => (
  <a class="brand" href="/dashboard">
    <svg class="brand-mark" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M4 5v11a4 4 0 0 0 4 4h8a4 4 0 0 0 4-4V5M8 12h8" />
    </svg>
    Berth
  </a>
);

/** Pages for which one is signed in; all of an area's pages stay away until then. */
function Area({ area, path }: { area: PageArea; path: string }) {
  const shown = area.pages.filter((page) => isInNavigation(page) && isOffered(page.audience));
  if (shown.length === 0) return null;
  return (
    <section class="side-area">
      {area.title !== '' && <h2>{area.title}</h2>}
      <ul>
        {shown.map((page) => {
          const href = hrefOf(page.path);
          const isCurrent = path === href || path.startsWith(`${href}/`);
          return (
            <li key={page.path}>
              <a href={href} aria-current={isCurrent ? 'page' : undefined}>
                <Icon name={page.icon} />
                {page.title}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A customer is offered what a login token opens, too, where the service accepts them; operators' pages need the key first. */
const isOffered = (audience: CredentialKind): boolean => {
  if (has(audience)) return true;
  if (audience === 'admin') return false;
  const isCustomer = has('key') || has('login');
  return isCustomer && (audience === 'key' || config.value?.sign_in.login === true);
};

function Foot() {
  const { version, links } = config.value ?? {};
  return (
    <div class="side-foot">
      <Account />
      <p class="muted">
        <a href={links?.docs ?? '/docs/guides'}>Guides</a> · <a href={links?.reference ?? '/docs'}>API</a>
        {version && <> · {version}</>}
      </p>
    </div>
  );
}
