import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { Keyboard } from './keyboard.ts';
import type { LiveView } from './live-view.ts';
import { MouseOver } from './mouse.ts';
import { placeOn, type Point, type Size } from './place.ts';
import { TouchOn } from './touch.ts';

interface Hands {
  view: LiveView;
  canvas: RefObject<HTMLCanvasElement | null>;
  field: RefObject<HTMLTextAreaElement | null>;
  onLeave: () => void;
}

/** Mouse, finger and keyboard, as long as the link allows it. */
export function useHands({ view, canvas, field, onLeave }: Hands): void {
  const canControl = view.canControl.value;
  useEffect(() => {
    const [picture, keyboard] = [canvas.current, field.current];
    if (!canControl || !picture || !keyboard) return undefined;
    const hands = new AbortController();
    const { signal } = hands;
    const send = view.send.bind(view);
    const pageSize = (): Size => view.pageSize.value ?? { width: 0, height: 0 };
    const placeAt = (at: Point): Point => placeOn(at, picture.getBoundingClientRect(), pageSize());
    const onPress = ({ clientX, clientY }: { clientX: number; clientY: number }): void => {
      const { left, top } = picture.parentElement?.getBoundingClientRect() ?? { left: 0, top: 0 };
      // What an input method offers appears at its field.
      keyboard.style.translate = `${clientX - left}px ${clientY - top}px`;
      keyboard.focus({ preventScroll: true });
    };
    const scale = (): number => pageSize().width / Math.max(1, picture.getBoundingClientRect().width);
    new MouseOver({ send, onPress, placeOf: ({ clientX, clientY }) => placeAt({ x: clientX, y: clientY }) }).listen(picture, { signal });
    new TouchOn({ send, placeAt, scale }).listen(picture, { signal });
    new Keyboard({ send, sendText: (text) => view.sendText(text), onLeave }).listen(keyboard, { signal });
    return () => hands.abort();
  }, [canControl]);
}
