/** What the page shows of a report. Sections that were not requested, or failed, are null. */
import type {
  InspectApi,
  InspectAssets,
  InspectAuth,
  InspectAutomation,
  InspectCookie,
  InspectSecurity,
  InspectSeo,
  InspectSite,
  InspectThirdParty,
} from '@berth/contract';

type Section<T> = T | null | undefined;

export interface ReportView {
  url: string | null;
  final_url: string | null;
  status: string;
  started_at: string;
  duration_ms: number;
  pages: readonly { url: string; title: string; status_code: number | null; requests: number; load_ms: number | null }[];
  limits: { truncated: boolean; dropped_requests: number; dropped_bytes: number; reason: string | null };
  redactions: { headers: number; body_keys: number; body_values: number };
  warnings: readonly string[];
  screenshot?: Section<{ content_type: string; width: number; height: number; data_base64: string | null }>;
  site?: Section<InspectSite>;
  api?: Section<ApiView>;
  auth?: Section<InspectAuth>;
  assets?: Section<InspectAssets>;
  third_parties?: Section<readonly InspectThirdParty[]>;
  cookies?: Section<readonly InspectCookie[]>;
  security?: Section<InspectSecurity>;
  seo?: Section<InspectSeo>;
  automation?: Section<InspectAutomation>;
}

interface ParameterView {
  name: string;
  type: string;
  format: string | null;
  required: boolean;
  example: string;
}

export interface EndpointView {
  id: string;
  method: string;
  host: string;
  path_template: string;
  kind: string;
  operation_name: string | null;
  first_party: boolean;
  params: { path: readonly ParameterView[]; query: readonly ParameterView[]; header: readonly ParameterView[] };
  request: { content_type: string; schema: unknown } | null;
  responses: readonly { status_code: number; count: number; content_type: string; schema: unknown; latency_p50_ms: number }[];
  pagination: { style: string; params: readonly string[] } | null;
  auth_required: string;
  auth_reason: string;
  calls: number;
  depends_on: readonly { endpoint_id: string; json_path: string; field: string }[];
  replayable: string;
  curl: string;
  confidence: string;
  evidence: readonly string[];
}

export interface ApiView {
  summary: Pick<
    InspectApi['summary'],
    'endpoints' | 'first_party' | 'graphql_operations' | 'websockets' | 'event_streams' | 'total_calls' | 'errors_4xx' | 'errors_5xx'
  >;
  specs_found: readonly Pick<InspectApi['specs_found'][number], 'type'>[];
  endpoints: readonly EndpointView[];
  graphql: readonly { endpoint: string; operations: readonly { name: string | null; type: string; calls: number }[] }[];
  websockets: readonly {
    url: string;
    protocol_guess: string;
    confidence: string;
    evidence: readonly string[];
    frames_sent: number;
    frames_received: number;
  }[];
  event_streams: readonly { url: string; events: readonly { name: string; count: number }[] }[];
}
