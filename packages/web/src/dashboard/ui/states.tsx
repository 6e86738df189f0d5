import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api-error.ts';
import type { Live } from '../live.ts';
import { Icon, type DashboardIcon } from './icons.tsx';

export const Loading = ({ label = 'Loading' }: { label?: string }) => (
  <div class="state" role="status">
    <span class="spinner spinner-large" aria-hidden="true" />
    <p>{label}</p>
  </div>
);

/** The shape of what is loaded: a line, or as high as its class says. */
export const Skeleton = ({ label, class: name = '' }: { label: string; class?: string }) => (
  <p class={`skeleton ${name}`} role="status">
    <span class="visually-hidden">{label}</span>
  </p>
);

interface EmptyProps {
  icon: DashboardIcon;
  title: string;
  /** What would be here, and how it gets here. */
  children?: ComponentChildren;
}

export const Empty = ({ icon, title, children }: EmptyProps) => (
  <div class="state">
    <Icon name={icon} />
    <h2>{title}</h2>
    {children && <div class="state-text">{children}</div>}
  </div>
);

interface ErrorNoteProps {
  error: ApiError;
  onRetry?: (() => void) | undefined;
}

/** What went wrong, in the service's words, with the id to ask the operator about. */
export const ErrorNote = ({ error, onRetry }: ErrorNoteProps) => (
  <div class="error-note" role="alert">
    <Icon name="alert" />
    <div>
      <p>{error.message}</p>
      {error.requestId && (
        <p class="muted">
          Request <code>{error.requestId}</code>
        </p>
      )}
    </div>
    {onRetry && (
      <button type="button" class="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
);

interface LoadedProps<T> {
  live: Live<T>;
  loading?: string;
  /** Shape of the data, shown while it is loaded in place of a turning wheel. */
  skeleton?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}

/** Data with its loading and error states. What was read stays visible below an error. */
export function Loaded<T>({ live, loading, skeleton, children }: LoadedProps<T>) {
  const { data, error, reload } = live;
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void reload()} />}
      {data === undefined ? !error && (skeleton ?? <Loading {...(loading ? { label: loading } : {})} />) : children(data)}
    </>
  );
}
