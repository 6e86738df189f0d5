import type { ComponentChildren, RefObject } from 'preact';
import { Icon, type IconName } from './icons.tsx';

interface PopoverProps {
  id: string;
  title: string;
  popoverRef?: RefObject<HTMLDivElement | null>;
  children: ComponentChildren;
}

/** A panel that a `PopoverButton` opens, and Escape or a click outside closes. */
export const Popover = ({ id, title, popoverRef, children }: PopoverProps) => (
  <div id={id} ref={popoverRef ?? null} popover="auto" class="popover" role="dialog" aria-labelledby={`${id}-title`}>
    <div class="popover-head">
      <h2 id={`${id}-title`}>{title}</h2>
      <button type="button" class="icon-button" popoverTarget={id} popoverTargetAction="hide" aria-label="Close">
        <Icon name="close" />
      </button>
    </div>
    {children}
  </div>
);

interface PopoverButtonProps {
  opens: string;
  label: string;
  icon: IconName;
}

export const PopoverButton = ({ opens, label, icon }: PopoverButtonProps) => (
  <button type="button" class="icon-button" popoverTarget={opens} aria-haspopup="dialog" aria-label={label} title={label}>
    <Icon name={icon} />
  </button>
);

/** A table of keys and what they do. */
export const KeyTable = ({ keys }: { keys: readonly (readonly [keys: string, does: string])[] }) => (
  <dl class="keys">
    {keys.map(([names, does]) => (
      <div key={names}>
        <dt>
          {names.split(' ').map((name) => (
            <kbd key={name}>{name}</kbd>
          ))}
        </dt>
        <dd>{does}</dd>
      </div>
    ))}
  </dl>
);
