/** What the pages of a site load, and how fast, as an inspection reports it. */
import { z } from 'zod';
import { countField, countOrNull, flagField, textField, textOrNull, textsField } from './inspect-claims.ts';

export const assetTypes = [
  'document',
  'script',
  'stylesheet',
  'image',
  'font',
  'media',
  'xhr',
  'fetch',
  'websocket',
  'manifest',
  'other',
] as const;
export type AssetType = (typeof assetTypes)[number];

const msOrNull = (description: string) => z.number().min(0).nullable().describe(description);

const Amount = z
  .object({
    count: countField('Number of requests.'),
    transfer_bytes: countField('Bytes on the wire, headers included where they are known.'),
    resource_bytes: countField('Bytes of the bodies, decompressed.'),
  })
  .meta({ id: 'InspectAmount' });

const Timings = z
  .object({
    ttfb_ms: msOrNull('Time to the first byte of the document.'),
    dcl_ms: msOrNull('Time to `DOMContentLoaded`.'),
    load_ms: msOrNull('Time to `load`.'),
    fcp_ms: msOrNull('First Contentful Paint.'),
    lcp_ms: msOrNull('Largest Contentful Paint.'),
    lcp_element: textOrNull('CSS path of the element of the Largest Contentful Paint.'),
    cls: z.number().min(0).nullable().describe('Cumulative Layout Shift, without a unit.'),
    tbt_ms: msOrNull('Total Blocking Time.'),
    ratings: z
      .record(z.string(), z.enum(['good', 'needs_improvement', 'poor']))
      .describe('Rating of `ttfb`, `fcp`, `lcp` and `cls` by the thresholds of web-vitals, and of `tbt` by those of Lighthouse.'),
  })
  .meta({ id: 'InspectTimings' });

const AssetSummary = z
  .object({
    requests: countField('Number of requests.'),
    transfer_bytes: countField('Bytes on the wire.'),
    resource_bytes: countField('Bytes of the bodies, decompressed.'),
    compressed_pct: z.number().min(0).max(100).describe('Share of text resources, by bytes, that were sent compressed, in percent.'),
    cached: countField('Responses from the browser cache.'),
    failed: countField('Requests that failed or were answered 400 or above.'),
    blocked_by_client: countField('Requests that the browser or its egress policy refused.'),
    by_type: z.record(z.string(), Amount).describe('Amounts by resource type; types that did not occur are left out.'),
    by_protocol: z.record(z.string(), z.int().min(0)).describe('Number of requests by protocol, such as `h2`.'),
    first_party_bytes: countField('Bytes on the wire of the site itself and of its sibling hosts.'),
    third_party_bytes: countField('Bytes on the wire of other sites.'),
    timings: Timings.describe('Timings of the first page, in milliseconds from the start of the navigation.'),
  })
  .meta({ id: 'InspectAssetSummary' });

const AssetRequest = z
  .object({
    id: textField('Id of the request, such as `r12`.'),
    page: textOrNull('Id of the page that sent it.'),
    url: textField('URL, with redacted values.'),
    method: textField('Method.'),
    type: z.enum(assetTypes).describe('Resource type.'),
    status_code: countField('Status of the response; 0 without one.'),
    mime_type: textField('Media type of the response; empty without one.'),
    protocol: textField('Protocol, such as `h2`; empty if it is unknown.'),
    priority: textOrNull('Priority that the browser gave it.'),
    first_party: flagField('Whether it belongs to the inspected site.'),
    start_ms: z.number().min(0).describe('Start, in milliseconds from the start of the capture.'),
    duration_ms: z.number().min(0).describe('Duration in milliseconds.'),
    ttfb_ms: msOrNull('Time from sending the request to the first byte of the response.'),
    transfer_bytes: countField('Bytes on the wire.'),
    resource_bytes: countField('Bytes of the body, decompressed.'),
    initiator: textOrNull('URL that made the browser send it, or the kind of initiator.'),
    from_cache: flagField('Whether the browser cache answered it.'),
    from_service_worker: flagField('Whether a service worker answered it.'),
    render_blocking: flagField('Whether the first paint waited for it.'),
    compression: textOrNull('`Content-Encoding` of the response.'),
    cache_ttl_s: countOrNull('Seconds for which the response may be cached; null if it does not say.'),
    blocked_reason: textOrNull('Why the browser or its egress policy refused it.'),
    error: textOrNull('Network error, such as `net::ERR_CONNECTION_REFUSED`.'),
  })
  .meta({ id: 'InspectAssetRequest' });

const resource = {
  request_id: textField('Id of the request.'),
  url: textField('URL, with redacted values.'),
};

const ChainLink = z
  .object({
    ...resource,
    depth: countField('Requests above it in the chain; 0 for the document.'),
    start_ms: z.number().min(0).describe('Start, in milliseconds from the start of the capture.'),
    end_ms: z.number().min(0).describe('End, in milliseconds from the start of the capture.'),
    transfer_bytes: countField('Bytes on the wire.'),
  })
  .meta({ id: 'InspectChainLink' });

const RenderBlocking = z
  .object({
    ...resource,
    type: z.enum(['script', 'stylesheet']).describe('Resource type.'),
    transfer_bytes: countField('Bytes on the wire.'),
    duration_ms: z.number().min(0).describe('Duration of the request in milliseconds.'),
  })
  .meta({ id: 'InspectRenderBlocking' });

const Largest = z
  .object({
    ...resource,
    type: z.enum(assetTypes).describe('Resource type.'),
    transfer_bytes: countField('Bytes on the wire.'),
    resource_bytes: countField('Bytes of the body, decompressed.'),
  })
  .meta({ id: 'InspectLargestAsset' });

const Duplicate = z
  .object({
    url: textField('URL of the first copy, with redacted values.'),
    request_ids: textsField('Ids of all copies.'),
    by: z.enum(['url', 'content']).describe('`url`: the same URL was loaded again. `content`: other URLs returned the same body.'),
    wasted_bytes: countField('Bytes on the wire of all copies but the first.'),
  })
  .meta({ id: 'InspectDuplicate' });

const Uncompressed = z
  .object({
    ...resource,
    resource_bytes: countField('Bytes of the body.'),
    saving_bytes: countField('Bytes that gzip is expected to save: measured where the body was captured, else two thirds.'),
  })
  .meta({ id: 'InspectUncompressed' });

const Uncached = z
  .object({
    ...resource,
    cache_ttl_s: countOrNull('Seconds for which the response may be cached; null if it does not say.'),
    transfer_bytes: countField('Bytes on the wire.'),
  })
  .meta({ id: 'InspectUncached' });

const UnusedFile = z
  .object({
    url: textField('URL, with redacted values.'),
    type: z.enum(['js', 'css']).describe('Script or style sheet.'),
    total_bytes: countField('Bytes of the file.'),
    unused_bytes: countField('Bytes of the file that no page used.'),
  })
  .meta({ id: 'InspectUnusedFile' });

const UnusedBytes = z
  .object({
    js: countField('Bytes of scripts that no page used.'),
    css: countField('Bytes of style sheets that no page used.'),
    files: z.array(UnusedFile).describe('Files with more than 20 KB unused, largest first, at most 20.'),
  })
  .meta({ id: 'InspectUnusedBytes' });

const OversizedImage = z
  .object({
    url: textField('URL, with redacted values.'),
    request_id: textOrNull('Id of the request; null for an image without one.'),
    natural: textField('Size of the file in pixels, such as `2000x1500`.'),
    displayed: textField('Largest size on a page, in CSS pixels.'),
    wasted_bytes: countField('Bytes that an image of the displayed size would save.'),
  })
  .meta({ id: 'InspectOversizedImage' });

const Font = z
  .object({
    ...resource,
    format: textOrNull('Format, such as `woff2`.'),
    transfer_bytes: countField('Bytes on the wire.'),
    preloaded: flagField('Whether the page preloads it.'),
  })
  .meta({ id: 'InspectFont' });

const ResourceHint = z
  .object({
    rel: z.enum(['preload', 'modulepreload', 'prefetch', 'preconnect', 'dns-prefetch', 'prerender']).describe('Kind of hint.'),
    url: textField('Target, with redacted values.'),
    as: textOrNull('The `as` attribute.'),
    used: z.boolean().nullable().describe('Whether a request used the target; null for hints about later pages.'),
  })
  .meta({ id: 'InspectResourceHint' });

const FailedRequest = z
  .object({
    ...resource,
    status_code: countField('Status of the response; 0 without one.'),
    net_error: textOrNull('Network error; null for an HTTP status.'),
  })
  .meta({ id: 'InspectFailedRequest' });

const ConsoleError = z
  .object({
    text: textField('The message, with redacted values, at most 500 characters.'),
    url: textOrNull('Source of the message.'),
    line: countOrNull('Line in the source.'),
    count: countField('How often it was logged.'),
  })
  .meta({ id: 'InspectConsoleError' });

const SourceMap = z
  .object({
    ...resource,
    source_map: textField('URL of the source map; `inline` for one within the file.'),
  })
  .meta({ id: 'InspectSourceMap' });

export const InspectAssets = z
  .object({
    summary: AssetSummary.describe('Totals of the capture.'),
    requests: z.array(AssetRequest).describe('All requests in the order of the capture, at most 2,000.'),
    critical_chain: z.array(ChainLink).describe('The longest chain of requests that the first paint waited for.'),
    render_blocking: z.array(RenderBlocking).describe('Scripts and style sheets that delayed the first paint, at most 50.'),
    largest: z.array(Largest).describe('The 20 largest resources by bytes on the wire.'),
    duplicates: z.array(Duplicate).describe('Resources that were loaded more than once, at most 50.'),
    uncompressed: z.array(Uncompressed).describe('Text resources of 1,400 bytes and more that were sent uncompressed, at most 50.'),
    uncached: z.array(Uncached).describe('Static resources that may be cached for less than a week, largest first, at most 50.'),
    unused_bytes: UnusedBytes.nullable().describe('Bytes of scripts and style sheets that were not used; null if they were not measured.'),
    oversized_images: z.array(OversizedImage).describe('Images that are larger than they are shown, at most 50.'),
    fonts: z.array(Font).describe('Fonts, at most 50.'),
    hints: z.array(ResourceHint).describe('Resource hints of the pages, such as `preload` and `preconnect`, at most 100.'),
    failed: z.array(FailedRequest).describe('Requests that failed, at most 100.'),
    console_errors: z.array(ConsoleError).describe('Errors in the console, at most 100.'),
    sourcemaps: z.array(SourceMap).describe('Source maps that scripts and style sheets name, at most 100. They are not loaded.'),
  })
  .meta({ id: 'InspectAssets' });
export type InspectAssets = z.infer<typeof InspectAssets>;
