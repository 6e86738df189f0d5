/** What the examples need of the HTTP API. They read BERTH_URL and BERTH_API_KEY. */
const url = process.env.BERTH_URL ?? 'http://127.0.0.1:8080';
const authorization = `Bearer ${process.env.BERTH_API_KEY ?? ''}`;

async function request(method, path, body) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method, headers: { authorization, ...type }, ...sent });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Creates a session, calls `work` with its id and its DevTools address, and ends it. */
export async function withSession(options, work) {
  const { session_id: id } = await (await request('POST', '/v1/session', options)).json();
  try {
    const { cdp_url: cdpUrl } = await (await request('GET', `/v1/session/${id}/connect`)).json();
    await work({ id, cdpUrl });
  } finally {
    await request('DELETE', `/v1/session/${id}`);
  }
}

/**
 * Creates a connect token, calls `work` with the addresses that have it, for HTTP and for WebSockets, and revokes it.
 * Each connection creates a session of its own.
 */
export async function withConnectToken(work) {
  const created = await (await request('POST', '/v1/connect-tokens', { name: 'example' })).json();
  const { token_id: id, cdp_http_url: address, cdp_url: socketAddress } = created;
  try {
    await work(address, socketAddress);
  } finally {
    await request('DELETE', `/v1/connect-tokens/${id}`);
  }
}

/** Puts a file into a session. Clients that name files by path name it by the returned `file_id`, or by its name. */
export async function upload(sessionId, name, data) {
  const body = { name, data_base64: Buffer.from(data).toString('base64') };
  return (await request('POST', `/v1/session/${sessionId}/uploads`, body)).json();
}

/** The content of a download. */
export async function download(sessionId, downloadId) {
  return Buffer.from(await (await request('GET', `/v1/session/${sessionId}/downloads/${downloadId}`)).arrayBuffer());
}

/** The session's open tabs. */
export async function tabs(sessionId) {
  return (await request('GET', `/v1/session/${sessionId}/tabs`)).json();
}
