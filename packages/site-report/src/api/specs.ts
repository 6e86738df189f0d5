/** Descriptions of the API that the site publishes itself. */
import type { InspectApi } from '@berth/contract';
import { type JsonValue, type ReportInput, parseJson } from '../exchange.ts';

type Spec = InspectApi['specs_found'][number];

const headChars = 4000;
const specsMax = 50;

export function readSpecs({ exchanges, capture, site }: ReportInput): Spec[] {
  const specs = new Map<string, Spec>();
  const add = (url: string, spec: Pick<Spec, 'type' | 'version'> | null, evidence: string[]): void => {
    if (spec && specs.size < specsMax && !specs.has(url)) specs.set(url, { url, ...spec, evidence });
  };
  for (const { url, statusCode, responseText, responseJson, responseType, id } of exchanges)
    if (statusCode === 200 && responseText !== '' && !responseType.endsWith('javascript'))
      add(url.href, specOf(responseText, responseJson), [id]);
  const base = URL.parse(capture.url)?.origin ?? `https://${site}`;
  for (const { path, statusCode, body } of capture.probes) if (statusCode === 200) add(base + path, specOf(body, parseJson(body)), []);
  for (const { url, html } of capture.pages)
    for (const [tag] of html.matchAll(/<link\b[^<>]{1,1000}>/gi))
      if (/opensearchdescription\+xml/i.test(tag)) {
        const href = /href\s{0,4}=\s{0,4}["']?([^"'\s<>]{1,1000})/i.exec(tag)?.[1];
        const target = href === undefined ? null : URL.parse(href, url);
        if (target) add(target.href, { type: 'opensearch', version: null }, []);
      }
  return [...specs.values()];
}

function specOf(text: string, json: JsonValue | undefined): Pick<Spec, 'type' | 'version'> | null {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    const { openapi, swagger, asyncapi } = json;
    if (typeof openapi === 'string') return { type: 'openapi', version: openapi };
    if (typeof swagger === 'string') return { type: 'swagger', version: swagger };
    if (typeof asyncapi === 'string') return { type: 'asyncapi', version: asyncapi };
    return null;
  }
  const head = text.slice(0, headChars);
  const yaml = /^(openapi|swagger|asyncapi):\s{0,4}["']?([\d.]{1,12})/m.exec(head);
  if (yaml) return { type: yaml[1] as 'openapi' | 'swagger' | 'asyncapi', version: yaml[2] ?? null };
  if (/<(?:wsdl:)?definitions\b/.test(head) && head.includes('schemas.xmlsoap.org/wsdl')) return { type: 'wsdl', version: '1.1' };
  return head.includes('<OpenSearchDescription') ? { type: 'opensearch', version: '1.1' } : null;
}
