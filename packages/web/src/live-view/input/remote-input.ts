import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { Keyboard } from './keyboard.ts';
import type { LiveView } from '../live-view.ts';
import { MouseInput } from './mouse.ts';
import { toPagePoint, type Point, type Size } from '../geometry.ts';
import { TouchInput } from './touch.ts';

interface RemoteInputOptions {
  view: LiveView;
  canvas: RefObject<HTMLCanvasElement | null>;
  field: RefObject<HTMLTextAreaElement | null>;
  onLeave: () => void;
}

/** Sends mouse, touch and keyboard input to the session while the link allows it. */
export function useRemoteInput({ view, canvas, field, onLeave }: RemoteInputOptions): void {
  const canControl = view.canControl.value;
  useEffect(() => {
    const [picture, keyboard] = [canvas.current, field.current];
    if (!canControl || !picture || !keyboard) return undefined;
    const listeners = new AbortController();
    const { signal } = listeners;
    const send = view.send.bind(view);
    const pageSize = (): Size => view.pageSize.value ?? { width: 0, height: 0 };
    const pagePointAt = (point: Point): Point => toPagePoint(point, picture.getBoundingClientRect(), pageSize());
    const onPress = ({ clientX, clientY }: { clientX: number; clientY: number }): void => {
      const { left, top } = picture.parentElement?.getBoundingClientRect() ?? { left: 0, top: 0 };
      // Input methods show their suggestions at the field.
      keyboard.style.translate = `${clientX - left}px ${clientY - top}px`;
      keyboard.focus({ preventScroll: true });
    };
    const scale = (): number => pageSize().width / Math.max(1, picture.getBoundingClientRect().width);
    new MouseInput({ send, onPress, pagePointOf: ({ clientX, clientY }) => pagePointAt({ x: clientX, y: clientY }) }).listen(picture, {
      signal,
    });
    new TouchInput({ send, pagePointAt, scale }).listen(picture, { signal });
    new Keyboard({ send, sendText: (text) => view.sendText(text), onLeave }).listen(keyboard, { signal });
    return () => listeners.abort();
  }, [canControl]);
}
