import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useImperativeHandle, useRef } from 'preact/hooks';
import { useHands } from './hands.ts';
import { leaveKey } from './keys.ts';
import type { LiveView } from './live-view.ts';
import { letterbox, type Size } from './place.ts';
import { StageNotice } from './stage-notice.tsx';
import { stageId, tabElementId, titleOf } from './tab-strip.tsx';

export interface StageHandle {
  /** Takes the keyboard to the page of the session. */
  focus(): void;
  /** What there is for the picture, in CSS px. */
  space(): Size;
}

interface StageProps {
  view: LiveView;
  onLeave: () => void;
  handle: RefObject<StageHandle | null>;
}

/** A window that is being dragged larger changes its size sixty times a second. */
const settledMs = 200;

export function Stage({ view, onLeave, handle }: StageProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const space = useSignal<Size>({ width: 0, height: 0 });
  useSpace(frame, space, view);
  useImperativeHandle(handle, () => ({ focus: () => field.current?.focus(), space: () => space.value }), []);
  useEffect(() => view.painter.drawOn(canvas.current), []);
  useHands({ view, canvas, field, onLeave });

  const page = view.pageSize.value;
  const box = letterbox(page ?? { width: 0, height: 0 }, space.value, devicePixelRatio);
  const place = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` };
  const tab = view.activeTab.value;
  const isStale = view.link.state.value.is !== 'live' && page !== null;
  const isPanel = view.canControl.value && tab !== undefined;
  return (
    <main class="stage" data-stale={isStale} data-control={view.canControl}>
      <div
        id={stageId}
        class="stage-space"
        ref={frame}
        role={isPanel ? 'tabpanel' : undefined}
        aria-labelledby={isPanel ? tabElementId(tab.tab_id) : undefined}
      >
        <canvas
          ref={canvas}
          class="picture"
          style={place}
          hidden={page === null}
          role="img"
          aria-label={`Picture of ${tab ? titleOf(tab) : 'the page'}`}
        />
        {view.canControl.value && <KeyboardField field={field} />}
        <div class="focus-ring" style={place} aria-hidden="true">
          <span class="focus-hint">
            <kbd>{leaveKey}</kbd> leaves the page
          </span>
        </div>
      </div>
      <StageNotice view={view} />
    </main>
  );
}

/** Cannot be seen: the picture shows what is typed. */
const KeyboardField = ({ field }: { field: RefObject<HTMLTextAreaElement | null> }) => (
  <>
    <textarea
      ref={field}
      class="keyboard-field"
      aria-label="Keyboard of the page"
      aria-describedby="keyboard-hint"
      rows={1}
      autocomplete="off"
      autocapitalize="off"
      autocorrect="off"
      spellcheck={false}
    />
    <span id="keyboard-hint" class="visually-hidden">
      What you type goes to the page of the session. {leaveKey} leaves it.
    </span>
  </>
);

function useSpace(frame: RefObject<HTMLElement | null>, space: Signal<Size>, view: LiveView): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const { width, height } = entry.contentRect;
      const isFirst = space.value.width === 0;
      space.value = { width, height };
      clearTimeout(timer);
      const onScreen = (px: number): number => Math.max(1, Math.round(px * devicePixelRatio));
      timer = setTimeout(() => view.fit({ width: onScreen(width), height: onScreen(height) }), isFirst ? 0 : settledMs);
    });
    if (frame.current) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
}
