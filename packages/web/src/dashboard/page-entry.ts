import type { ComponentType } from 'preact';
import type { CredentialKind } from './sign-in/credentials.ts';
import type { DashboardIcon } from './ui/icons.tsx';

/** Properties of a page: the parameters of its path. */
export interface PageProps {
  params: Record<string, string>;
}

export interface PageEntry {
  /** Path below `/dashboard`; `:name` is a parameter. */
  path: string;
  /** Title in the navigation, of the window, and in the palette. */
  title: string;
  icon: DashboardIcon;
  /** The credential that its calls need. */
  audience: CredentialKind;
  /** Whether it is in the navigation. Default: true for a path without parameters. */
  inNavigation?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export interface PageArea {
  /** Heading in the navigation; empty: none. */
  title: string;
  pages: readonly PageEntry[];
}
