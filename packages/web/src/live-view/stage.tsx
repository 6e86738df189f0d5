import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useImperativeHandle, useRef } from 'preact/hooks';
import { useRemoteInput } from './input/remote-input.ts';
import { leaveKey } from './input/keys.ts';
import type { LiveView } from './live-view.ts';
import { letterbox, pageSizeFor, type Size } from './geometry.ts';
import { Prompts } from './controls/prompts.tsx';
import { StageNotice } from './stage-notice.tsx';
import { stageId, tabElementId, titleOf } from './controls/tab-strip.tsx';

export interface StageHandle {
  /** Moves the focus to the page of the session. */
  focus(): void;
  /** The space for the frame, in CSS px. */
  space(): Size;
}

interface StageProps {
  view: LiveView;
  onLeave: () => void;
  handle: RefObject<StageHandle | null>;
}

/** Text of usual size is hard to read below. */
const readableScaleMin = 0.6;
/** A window that is being resized changes its size many times a second. */
const resizeDelayMs = 200;

export function Stage({ view, onLeave, handle }: StageProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const space = useSignal<Size>({ width: 0, height: 0 });
  useSpace(frame, space, view);
  useImperativeHandle(handle, () => ({ focus: () => field.current?.focus(), space: () => space.value }), []);
  useEffect(() => view.painter.drawOn(canvas.current), []);
  useRemoteInput({ view, canvas, field, onLeave });

  const page = view.pageSize.value;
  const box = letterbox(page ?? { width: 0, height: 0 }, space.value, devicePixelRatio);
  const position = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` };
  const tab = view.activeTab.value;
  const isStale = view.link.state.value.status !== 'live' && page !== null;
  const isPanel = view.canControl.value && tab !== undefined;
  const Main = view.isEmbedded ? 'div' : 'main';
  return (
    <Main class="stage" data-stale={isStale} data-control={view.canControl}>
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
          style={position}
          hidden={page === null}
          role="img"
          aria-label={`Picture of ${tab ? titleOf(tab) : 'the page'}`}
        />
        {view.canControl.value && <KeyboardField field={field} />}
        <div class="focus-ring" style={position} aria-hidden="true">
          <span class="focus-hint">
            Press <kbd>{leaveKey}</kbd> to leave the page
          </span>
        </div>
        <Prompts view={view} picture={box} onAnswered={() => hasKeyboard() && field.current?.focus({ preventScroll: true })} />
      </div>
      <FitOffer view={view} page={page} box={box} space={space.value} />
      <StageNotice view={view} />
    </Main>
  );
}

/** Whether there is a keyboard. Without one, as on a phone, the focus would open an on-screen keyboard over the page. */
const hasKeyboard = (): boolean => matchMedia('(hover: hover)').matches;

interface FitOfferProps {
  view: LiveView;
  page: Size | null;
  box: Size;
  space: Size;
}

/** Offers to fit the page to the screen: on a phone, a page for a large screen is too small to read. */
function FitOffer({ view, page, box, space }: FitOfferProps) {
  const isSmall = page !== null && box.width > 0 && box.width / page.width < readableScaleMin;
  if (!view.canControl.value || !isSmall || view.prompt.value || view.link.state.value.status !== 'live') return null;
  return (
    <button type="button" class="button fit-offer" onClick={() => view.send({ type: 'resize', ...pageSizeFor(space) })}>
      Fit the page to my screen
    </button>
  );
}

/** Invisible: the frame shows what is typed. */
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
      Your keys go to the page of the session. Press {leaveKey} to leave it.
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
      timer = setTimeout(() => view.fit({ width: onScreen(width), height: onScreen(height) }), isFirst ? 0 : resizeDelayMs);
    });
    if (frame.current) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
}
