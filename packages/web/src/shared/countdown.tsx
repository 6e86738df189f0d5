import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const secondMs = 1000;

/** Seconds until a time, counting down. Not read out: every second would be. */
export function Countdown({ toMs }: { toMs: number }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), secondMs / 4);
    return () => clearInterval(timer);
  }, [toMs]);
  return <span aria-hidden="true">{Math.max(0, Math.ceil((toMs - now.value) / secondMs))} s</span>;
}
