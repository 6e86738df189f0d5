import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from 'preact-iso';
import { useSignal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { toShown, type ApiError } from './api-error.ts';
import { credentialNames, has, isSignedIn, type CredentialKind } from './sign-in/credentials.ts';
import { Layout } from './layout.tsx';
import type { PageEntry, PageProps } from './page-entry.ts';
import { hrefOf } from './href.ts';
import { pages } from './pages.ts';
import { SignIn, SignInPage } from './sign-in/sign-in.tsx';
import { Empty, ErrorNote } from './ui/states.tsx';
import { ToastList } from '../shared/toasts.tsx';
import { toasts } from './ui/toasts.ts';

const routes = pages.map((entry) => ({ entry, path: hrefOf(entry.path), component: guarded(entry) }));

export const App = () => (
  <LocationProvider scope="/dashboard">
    <ErrorBoundary>{isSignedIn.value ? <SignedIn /> : <SignInPage />}</ErrorBoundary>
    <ToastList toasts={toasts} />
  </LocationProvider>
);

function SignedIn() {
  const isLoading = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const { url } = useLocation();
  useEffect(() => {
    error.value = null;
  }, [url]);
  return (
    <Layout isLoading={isLoading.value}>
      {error.value ? (
        <ErrorNote error={error.value} onRetry={() => location.reload()} />
      ) : (
        <ErrorBoundary onError={(failure) => (error.value = toShown(failure))}>
          <Router onLoadStart={() => (isLoading.value = true)} onLoadEnd={() => (isLoading.value = false)}>
            {routes.map(({ path, component }) => (
              <Route key={path} path={path} component={component} />
            ))}
            <Route path="/dashboard" component={Start} />
            <Route path="/dashboard/sign-in" component={AddCredential} />
            <Route default component={Missing} />
          </Router>
        </ErrorBoundary>
      )}
    </Layout>
  );
}

/** The page, or the sign-in with the credential that it needs. Its file is loaded once it can be shown. */
function guarded(entry: PageEntry): ComponentType<PageProps> {
  const Page = lazy(entry.load);
  return function Guarded({ params }: PageProps): JSX.Element {
    useEffect(() => {
      document.title = `${entry.title} · Berth`;
    }, []);
    if (has(entry.audience)) return <Page params={params} />;
    return (
      <div class="page">
        <h1>{entry.title}</h1>
        <p class="muted">
          This page needs {entry.audience === 'login' ? 'a' : 'an'} {credentialNames[entry.audience]}.
        </p>
        <SignIn only={entry.audience} />
      </div>
    );
  };
}

/** Leads to the first page for what one signed in with. */
function Start() {
  const { route } = useLocation();
  useEffect(() => route(firstPageFor(has), true), []);
  return <div class="page" />;
}

function firstPageFor(isOpened: (kind: CredentialKind) => boolean): string {
  const first = pages.find(({ audience, path }) => isOpened(audience) && !path.includes(':')) ?? pages[0];
  return hrefOf(first?.path ?? '');
}

/** Beside what one is signed in with already. Then it leads to what has been added. */
function AddCredential() {
  const { route } = useLocation();
  return (
    <div class="page">
      <h1>Add a credential</h1>
      <div class="panel">
        <SignIn onSignedIn={(added) => route(firstPageFor((kind) => kind === added))} />
      </div>
    </div>
  );
}

const Missing = () => (
  <div class="page">
    <Empty icon="search" title="This page does not exist">
      <p>
        Check the address, or start at the <a href="/dashboard">beginning</a>.
      </p>
    </Empty>
  </div>
);
