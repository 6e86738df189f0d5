/** Contents of the trade desk (`trade.ts`) that an inspection can find, for the measure of inspections. */

export interface EndpointKey {
  method: string;
  host: 'site' | 'sibling';
  /** Path parameters as `{}`: their names are a matter of taste. */
  path: string;
  kind?: 'rest' | 'graphql' | 'jsonrpc';
  operation?: string;
  /** `path|query|header name type`; path parameters without a name. */
  params?: string[];
  /** `field type` of the request body; `[]` is an element of a list. */
  request?: string[];
  /** Status code to `field type` of its JSON body. */
  responses: Record<number, string[]>;
  pagination?: 'page' | 'offset' | 'cursor' | 'link';
  /** Whether calls without credentials are refused. */
  auth?: 'yes' | 'no' | 'unknown';
  /** `METHOD path field`: replies that a value of the request comes from. */
  dependsOn?: string[];
}

const error = ['error object', 'error.code string', 'error.message string'];
const orders = '/api/v2/customers/{}/orders';
const login = 'POST /api/v2/auth/login';

/** The type of a number that has decimals in one sample is `number`. */
export const endpoints: EndpointKey[] = [
  {
    method: 'POST',
    host: 'site',
    path: '/api/v2/auth/login',
    request: ['email string', 'password string'],
    responses: {
      200: [
        'access_token string',
        'refresh_token string',
        'token_type string',
        'expires_in integer',
        'customer object',
        'customer.id integer',
        'customer.name string',
      ],
    },
  },
  {
    method: 'POST',
    host: 'site',
    path: '/api/v2/auth/refresh',
    request: ['refresh_token string'],
    responses: { 200: ['access_token string', 'token_type string', 'expires_in integer'] },
    dependsOn: [`${login} refresh_token`],
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/me',
    responses: {
      200: ['id integer', 'name string', 'email string', 'roles array', 'roles[] string', 'created_at string', 'vat_id null'],
      401: error,
    },
    auth: 'yes',
    dependsOn: [`${login} access_token`],
  },
  {
    method: 'GET',
    host: 'site',
    path: orders,
    params: ['path integer', 'query page integer', 'query per_page integer'],
    responses: {
      200: [
        'data array',
        'data[] object',
        'data[].id string',
        'data[].number string',
        'data[].status string',
        'data[].total number',
        'data[].placed_at string',
        'meta object',
        'meta.page integer',
        'meta.per_page integer',
        'meta.total_pages integer',
        'meta.total integer',
      ],
    },
    pagination: 'page',
    dependsOn: [`${login} access_token`, `${login} customer.id`],
  },
  {
    method: 'GET',
    host: 'site',
    path: `${orders}/{}`,
    params: ['path integer', 'path string'],
    responses: {
      200: [
        'id string',
        'number string',
        'status string',
        'total number',
        'placed_at string',
        'lines_count integer',
        'is_gift boolean',
        'shipping object',
        'shipping.carrier string',
        'shipping.tracking_url string|null',
      ],
      404: error,
    },
    dependsOn: [`${login} access_token`, `${login} customer.id`, `GET ${orders} data[].id`],
  },
  {
    method: 'GET',
    host: 'site',
    path: `${orders}/{}/lines`,
    params: ['path integer', 'path string', 'query offset integer', 'query limit integer'],
    responses: {
      200: [
        'items array',
        'items[] object',
        'items[].sku string',
        'items[].name string',
        'items[].quantity integer',
        'items[].unit_price number',
        'offset integer',
        'limit integer',
        'total integer',
      ],
    },
    pagination: 'offset',
    dependsOn: [`${login} access_token`, `${login} customer.id`, `GET ${orders} data[].id`],
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/activity',
    params: ['query limit integer', 'query cursor string'],
    responses: {
      200: ['items array', 'items[] object', 'items[].id integer', 'items[].kind string', 'items[].at string', 'next_cursor string|null'],
    },
    pagination: 'cursor',
    dependsOn: [`${login} access_token`, 'GET /api/v2/activity next_cursor'],
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/notices',
    params: ['query after integer'],
    responses: { 200: ['[] object', '[].id integer', '[].title string'] },
    pagination: 'link',
    auth: 'no',
  },
  {
    method: 'POST',
    host: 'site',
    path: '/api/v2/notes',
    params: ['header x-csrf-token string'],
    request: ['order_id string', 'text string'],
    responses: { 201: ['id integer', 'order_id string', 'text string', 'created_at string'], 422: error },
    dependsOn: [`GET ${orders} data[].id`],
  },
  {
    method: 'PATCH',
    host: 'site',
    path: '/api/v2/notes/{}',
    params: ['path integer', 'header x-csrf-token string'],
    request: ['text string'],
    responses: { 200: ['id integer', 'text string', 'edited boolean'] },
    dependsOn: ['POST /api/v2/notes id'],
  },
  {
    method: 'DELETE',
    host: 'site',
    path: '/api/v2/notes/{}',
    params: ['path integer', 'header x-csrf-token string'],
    responses: { 204: [] },
    dependsOn: ['POST /api/v2/notes id'],
  },
  {
    method: 'POST',
    host: 'site',
    path: '/api/v2/attachments',
    request: ['kind string', 'file string'],
    responses: { 201: ['id string', 'name string', 'bytes integer'] },
    dependsOn: [`${login} access_token`],
  },
  {
    method: 'GET',
    host: 'sibling',
    path: '/api/v2/stock-levels/{}',
    params: ['path string'],
    responses: { 200: ['sku string', 'on_hand integer', 'updated_at string'] },
    dependsOn: ['POST /api/v2/auth/refresh access_token'],
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/reports/{}',
    params: ['path integer'],
    responses: {
      200: [
        'year integer',
        'revenue number',
        'orders integer',
        'by_month array',
        'by_month[] object',
        'by_month[].month integer',
        'by_month[].revenue number',
      ],
      503: error,
    },
    dependsOn: ['POST /api/v2/auth/refresh access_token'],
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/rates',
    params: ['header x-api-key string'],
    responses: { 200: ['base string', 'as_of string', 'rates object', 'rates.USD number', 'rates.SEK number'], 401: error },
    auth: 'yes',
  },
  {
    method: 'GET',
    host: 'site',
    path: '/api/v2/maps/tiles/{}/{}/{}',
    params: ['path integer', 'path integer', 'path integer', 'query key string'],
    responses: { 200: ['tile string', 'features integer'] },
  },
  { method: 'GET', host: 'site', path: '/api/v2/legacy/export', responses: { 200: [] } },
  {
    method: 'POST',
    host: 'site',
    path: '/graphql',
    kind: 'graphql',
    operation: 'ProductById',
    request: ['operationName string', 'query string', 'variables object', 'variables.id string'],
    responses: {
      200: [
        'data object',
        'data.product object',
        'data.product.__typename string',
        'data.product.id integer',
        'data.product.sku string',
        'data.product.name string',
        'data.product.category string',
        'data.product.price number',
        'data.product.currency string',
        'data.product.stock integer',
        'data.product.rating number',
        'data.product.material string',
        'data.product.description string',
        'data.product.url string',
        'data.product.image string',
      ],
    },
  },
  {
    method: 'GET',
    host: 'site',
    path: '/graphql',
    kind: 'graphql',
    operation: 'LatestArticles',
    params: ['query operationName string', 'query variables string', 'query extensions string'],
    responses: {
      200: [
        'data object',
        'data.articles array',
        'data.articles[] object',
        'data.articles[].__typename string',
        'data.articles[].slug string',
        'data.articles[].title string',
        'data.articles[].date string',
      ],
    },
  },
  {
    method: 'POST',
    host: 'site',
    path: '/rpc',
    kind: 'jsonrpc',
    operation: 'inventory.count',
    request: ['jsonrpc string', 'id integer', 'method string', 'params object', 'params.warehouse integer'],
    responses: { 200: ['jsonrpc string', 'id integer', 'result object', 'result.count integer'] },
  },
  {
    method: 'GET',
    host: 'sibling',
    path: '/idp/.well-known/openid-configuration',
    responses: {
      200: [
        'issuer string',
        'authorization_endpoint string',
        'token_endpoint string',
        'userinfo_endpoint string',
        'jwks_uri string',
        'scopes_supported array',
        'scopes_supported[] string',
        'response_types_supported array',
        'response_types_supported[] string',
        'code_challenge_methods_supported array',
        'code_challenge_methods_supported[] string',
      ],
    },
  },
  {
    method: 'POST',
    host: 'sibling',
    path: '/idp/token',
    request: ['grant_type string', 'client_id string', 'redirect_uri string', 'code string', 'code_verifier string'],
    responses: {
      200: ['access_token string', 'refresh_token string', 'id_token string', 'token_type string', 'expires_in integer', 'scope string'],
    },
  },
  {
    method: 'GET',
    host: 'sibling',
    path: '/idp/userinfo',
    responses: { 200: ['sub string', 'email string', 'email_verified boolean'] },
    dependsOn: ['POST /idp/token access_token'],
  },
];

export interface MechanismKey {
  type: 'cookie_session' | 'bearer_jwt' | 'bearer_opaque' | 'api_key' | 'basic' | 'oauth2' | 'oidc' | 'csrf_token';
  in: 'header' | 'cookie' | 'query' | null;
  /** Lower case; null where the mechanism has none. */
  name: string | null;
}

export const mechanisms: MechanismKey[] = [
  { type: 'cookie_session', in: 'cookie', name: 'sid' },
  { type: 'bearer_jwt', in: 'header', name: 'authorization' },
  { type: 'bearer_opaque', in: 'header', name: 'authorization' },
  { type: 'api_key', in: 'header', name: 'x-api-key' },
  { type: 'api_key', in: 'query', name: 'key' },
  { type: 'basic', in: 'header', name: 'authorization' },
  { type: 'csrf_token', in: 'header', name: 'x-csrf-token' },
  { type: 'oidc', in: null, name: null },
];

export interface StreamKey {
  path: string;
  /** Format of the messages of a WebSocket; or `event stream`. */
  protocol: 'json' | 'event stream';
  /** `sent|received discriminator`, or `event discriminator`, to `field type`. `-`: nothing distinguishes the messages. */
  messages: Record<string, string[]>;
}

export const streams: StreamKey[] = [
  {
    path: '/ws',
    protocol: 'json',
    messages: {
      'sent -': ['subscribe integer'],
      'received type=hello': ['type string', 'shop string'],
      'received type=price': ['type string', 'product_id integer', 'price number', 'n integer'],
    },
  },
  { path: '/api/stock', protocol: 'event stream', messages: { 'stock -': ['product_id integer', 'stock integer'] } },
];
