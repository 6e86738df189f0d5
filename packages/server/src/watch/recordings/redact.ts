/** What recordings show of a session: their viewers must not see values of its URLs. */
import { redactText, redactUrl, type Redaction } from '@berth/lib/secrets/redact/redact.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';

export const recorded: Redaction = { placeholder: '…', rule: 'values', charsMax: 2000 };
const recordedUrl: Redaction = { ...recorded, charsMax: 1024 };
const itemsMax = 30;

/** Redacts the values of an event's data. */
export const redactData = (data: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  mapTexts(
    data,
    (text, field) => (field === null ? text : /(^|_)url$/.test(field) ? redactUrl(text, recordedUrl) : redactText(text, recorded)),
    { itemsMax },
  );
