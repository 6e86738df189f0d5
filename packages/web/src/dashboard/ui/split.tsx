import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** Width of the panel in percent of the whole, as it was last chosen; the next page of the kind has the same. */
const panelPercentOf = new Map<string, number>();
const percentMin = 20;
const percentMax = 65;
const percentAtFirst = 36;
const keyStep = 4;

interface SplitProps {
  /** What the panel shows, such as `What happens`. */
  label: string;
  main: ComponentChildren;
  panel: ComponentChildren;
  /** Whether the panel is open where it is a sheet over the main part: on a phone. */
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}

/** Two parts side by side with a boundary that is moved by pointer or keyboard; on a phone the second is a sheet. */
export function Split({ label, main, panel, isOpen, onToggle }: SplitProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const percent = useSignal(panelPercentOf.get(label) ?? percentAtFirst);
  const resize = (wanted: number) => {
    percent.value = Math.round(Math.min(percentMax, Math.max(percentMin, wanted)));
    panelPercentOf.set(label, percent.value);
  };
  const drag = (event: PointerEvent) => {
    if (!(event.currentTarget as HTMLElement).hasPointerCapture(event.pointerId)) return;
    const { right, width } = box.current?.getBoundingClientRect() ?? { right: 0, width: 1 };
    resize((100 * (right - event.clientX)) / width);
  };
  const press = (event: KeyboardEvent) => {
    const wanted: Record<string, number> = {
      ArrowLeft: percent.value + keyStep,
      ArrowRight: percent.value - keyStep,
      Home: percentMax,
      End: percentMin,
      Enter: percentAtFirst,
    };
    const next = wanted[event.key];
    if (next === undefined) return;
    event.preventDefault();
    resize(next);
  };
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen) onToggle(false);
  };
  return (
    <div class="split" ref={box} data-open={isOpen} style={{ '--panel': `${percent.value}%` }}>
      <div class="split-main">{main}</div>
      {/* A focusable separator is a control by the ARIA patterns: it has a value, and keys that change it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        class="split-boundary"
        role="separator"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label={`Width of “${label}”`}
        aria-orientation="vertical"
        aria-controls={id}
        aria-valuenow={percent.value}
        aria-valuemin={percentMin}
        aria-valuemax={percentMax}
        title="Drag, or use the arrow keys. Enter: as at first"
        onKeyDown={press}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDblClick={() => resize(percentAtFirst)}
      />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes the sheet from anywhere in it. */}
      <section class="split-panel" id={id} aria-label={label} onKeyDown={closeByKey}>
        <button type="button" class="split-handle" aria-expanded={isOpen} aria-controls={id} onClick={() => onToggle(!isOpen)}>
          <Icon name={isOpen ? 'down' : 'up'} />
          {label}
        </button>
        {panel}
      </section>
    </div>
  );
}
