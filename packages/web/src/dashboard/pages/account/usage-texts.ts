import { durationText, numberText, sizeText } from '../../ui/values/texts.ts';
import type { Axis } from './usage-series.ts';

/** A number of an axis with its unit. */
export const valueTexts: Record<Axis, (value: number) => string> = {
  actions: numberText,
  egress_bytes: sizeText,
  browser_seconds: (seconds) => (seconds === 0 ? '0 s' : durationText(seconds * 1000)),
  sessions: numberText,
  captcha_solves: numberText,
};
