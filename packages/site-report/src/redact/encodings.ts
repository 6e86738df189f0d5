/** The encodings in which a value travels: percent, JSON, HTML and base64, also as a part of a longer base64 text. */

const base64CharsMin = 8;

export function encodingsOf(value: string): string[] {
  const forms = new Set([value]);
  const percent = encoded(value);
  for (const form of [percent, percent.replaceAll('%20', '+'), String(new URLSearchParams({ v: value })).slice(2)]) {
    forms.add(form);
    forms.add(form.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase()));
    forms.add(encoded(form));
  }
  const json = JSON.stringify(value).slice(1, -1);
  forms.add(json);
  forms.add(json.replaceAll('/', String.raw`\/`));
  forms.add(JSON.stringify(json).slice(1, -1));
  forms.add(json.replaceAll(/[&<>'+=]/g, (char) => String.raw`\u00` + char.charCodeAt(0).toString(16)));
  forms.add(value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'));
  forms.add(
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;').replaceAll("'", '&#39;').replaceAll('+', '&#43;'),
  );
  forms.add(value.replaceAll('&', '&amp;').replaceAll("'", '&#x27;').replaceAll('/', '&#x2F;').replaceAll('=', '&#x3D;'));
  return [...forms];
}

/** Base64 of the value, and what it contributes to base64 of a text in which it stands. */
export function base64Of(value: string): string[] {
  const bytes = Buffer.from(value);
  const forms = new Set<string>();
  for (let offset = 0; offset < 3; offset++) {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const inner = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    for (const form of offset === 0 ? [whole, inner] : [inner]) {
      if (form.length < base64CharsMin) continue;
      forms.add(form);
      forms.add(form.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''));
      if (/[+/=]/.test(form)) forms.add(encoded(form));
    }
  }
  return [...forms];
}

function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
