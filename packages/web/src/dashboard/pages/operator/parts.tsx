/** Parts that the operator's pages share. */
import type { ComponentChildren, JSX } from 'preact';
import type { Reply } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import type { Tone } from '../../ui/badge.tsx';
import { Icon } from '../../ui/icons.tsx';
import './operator.css';

export const refreshMs = 5000;
/** Refresh interval of figures that cost the service more, or change slowly. */
export const slowRefreshMs = 15_000;

interface PageFrameProps {
  title: ComponentChildren;
  /** A sentence: what the page is for. */
  about?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export const PageFrame = ({ title, about, actions, children }: PageFrameProps) => (
  <div class="page operator">
    <div class="page-head">
      <h1>{title}</h1>
      {actions && <div class="page-actions">{actions}</div>}
    </div>
    {about && <p class="muted operator-about">{about}</p>}
    {children}
  </div>
);

interface PanelProps {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export const Panel = ({ title, actions, children }: PanelProps) => (
  <section class="panel operator-panel">
    <div class="page-head">
      <h2 class="operator-panel-title">{title}</h2>
      {actions && <div class="page-actions">{actions}</div>}
    </div>
    {children}
  </section>
);

export type Stat = readonly [name: string, value: ComponentChildren, note?: ComponentChildren];

export const Stats = ({ stats }: { stats: readonly Stat[] }) => (
  <dl class="stats">
    {stats.map(([name, value, note]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd class="figure">{value}</dd>
        {note && <dd class="hint">{note}</dd>}
      </div>
    ))}
  </dl>
);

/** Something that an operator should look at. */
export const Note = ({ tone, children }: { tone: Extract<Tone, 'warn' | 'bad'>; children: ComponentChildren }) => (
  <div class={`operator-note tone-${tone}`}>
    <Icon name="alert" />
    <div>{children}</div>
  </div>
);

export const OwnerLink = ({ owner }: { owner: string }) => <a href={hrefOf(`/operator/owners/${encodeURIComponent(owner)}`)}>{owner}</a>;

export const SiteLink = ({ owner, domain }: { owner: string; domain: string }) => (
  <a href={hrefOf(`/operator/sites/${encodeURIComponent(owner)}/${encodeURIComponent(domain)}`)}>{domain}</a>
);

/** Whether the plan in effect is that of a trial. It also differs from the owner's own where that is no longer in the file. */
export const isTrial = (tier: string, { trial_tier: trial, trial_ends_at: endsAt }: OwnerPlan): boolean =>
  trial === tier && endsAt !== null && Date.parse(endsAt) > Date.now();
type OwnerPlan = Reply<'getOwner'>['plan'];

/** Address of a page with filters. */
export function filtered(path: string, filters: Record<string, string>): string {
  return `${hrefOf(path)}?${new URLSearchParams(filters)}`;
}

export const siteTones: Record<Reply<'listSiteHealth'>[number]['state'], Tone> = {
  healthy: 'good',
  degraded: 'warn',
  blocked: 'bad',
  cooldown: 'bad',
  unknown: 'neutral',
};

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
/** Formats a share from 0 to 1 in percent; empty for null. */
export const shareText = (share: number | null): string => (share === null ? '' : percent.format(share));

/** Text with `code` in backticks, as descriptions of the contract have it. */
export const Described = ({ text }: { text: string }) => (
  <>
    {text
      .split('`')
      .map((part, index): JSX.Element => (index % 2 === 1 ? <code key={index}>{part}</code> : <span key={index}>{part}</span>))}
  </>
);

interface FiltersProps {
  /** Filters in use, by name. */
  values: Partial<Record<string, string>>;
  onClear: (name: string) => void;
}

/** The filters in use, each with a button that removes it. */
export function UsedFilters({ values, onClear }: FiltersProps) {
  const used = Object.entries(values).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  if (used.length === 0) return null;
  return (
    <ul class="operator-filters" aria-label="Filters in use">
      {used.map(([name, value]) => (
        <li key={name}>
          <button type="button" class="button" aria-label={`${name}: ${value}, remove the filter`} onClick={() => onClear(name)}>
            {name}: {value}
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
