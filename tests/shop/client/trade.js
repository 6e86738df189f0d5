// The trade desk: signs in, then uses each part of its API once or a few times.
const desk = document.getElementById('desk');
const { sibling, ratesKey, mapsKey, exportPassword } = desk.dataset;
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const state = document.getElementById('desk-state');
const api = '/api/v2';

const read = async (path, options = {}) => {
  const answer = await fetch(path, options);
  const isJson = answer.headers.get('content-type')?.includes('json');
  return { answer, body: isJson ? await answer.json() : await answer.text() };
};
const send = (method, value, headers = {}) => ({
  method,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
const bearer = () => ({ authorization: `Bearer ${localStorage.getItem('desk.token')}` });
const get = (path) => read(path, { headers: bearer() });

const readOrders = async (customer) => {
  const list = `${api}/customers/${customer}/orders`;
  const { body: first } = await get(`${list}?page=1&per_page=5`);
  const { body: second } = await get(`${list}?page=2&per_page=5`);
  for (const { id } of [first.data[0], second.data[0]]) await get(`${list}/${id}`);
  const lines = `${list}/${first.data[0].id}/lines`;
  for (const offset of [0, 10, 20]) await get(`${lines}?offset=${offset}&limit=10`);
  return first.data[0].id;
};

const readActivity = async () => {
  for (let cursor = null, pages = 0; pages < 3; pages += 1) {
    const { body } = await get(`${api}/activity?limit=10${cursor === null ? '' : `&cursor=${cursor}`}`);
    cursor = body.next_cursor;
    if (cursor === null) return;
  }
};

const readNotices = async () => {
  for (let path = `${api}/notices`; path;) {
    const { answer } = await read(path);
    path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
};

const writeNotes = async (order) => {
  const headers = { 'x-csrf-token': csrf };
  const { body } = await read(`${api}/notes`, send('POST', { order_id: order, text: 'Leave it at the gate.' }, headers));
  await read(`${api}/notes/${body.id}`, send('PATCH', { text: 'Leave it at the quay.' }, headers));
  await read(`${api}/notes/${body.id}`, { method: 'DELETE', headers });
  await read(`${api}/notes`, send('POST', { order_id: order, text: '' }, headers));
};

const upload = () => {
  const form = new FormData();
  form.append('kind', 'delivery');
  form.append('file', new Blob(['To the gate.\n'], { type: 'text/plain' }), 'delivery.txt');
  return read(`${api}/attachments`, { method: 'POST', headers: bearer(), body: form });
};

const useGraphql = async () => {
  const product = 'query ProductById($id: ID!) { product(id: $id) { id name price } }';
  for (const id of ['3', '5']) await read('/graphql', send('POST', { operationName: 'ProductById', query: product, variables: { id } }));
  const hash = 'a3f1c0d2e4b5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f';
  const query = new URLSearchParams({
    operationName: 'LatestArticles',
    variables: '{}',
    extensions: JSON.stringify({ persistedQuery: { version: 1, sha256Hash: hash } }),
  });
  await read(`/graphql?${query}`);
};

const useStreams = async () => {
  const stock = new EventSource('/api/stock?product=1&count=3');
  await new Promise((resolve) => stock.addEventListener('stock', ({ lastEventId }) => lastEventId === '3' && resolve()));
  stock.close();
  const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws`);
  socket.addEventListener('open', () => socket.send(JSON.stringify({ subscribe: 7 })));
  await new Promise((resolve) => socket.addEventListener('message', ({ data }) => JSON.parse(data).n === 3 && resolve()));
  socket.close();
};

const keyed = async () => {
  await read(`${api}/rates`);
  await read(`${api}/rates`, { headers: { 'x-api-key': ratesKey } });
  for (const [x, y] of [
    [531, 330],
    [532, 331],
  ])
    await read(`${api}/maps/tiles/10/${x}/${y}?key=${mapsKey}`);
  await read(`${api}/legacy/export`, { headers: { authorization: `Basic ${btoa(`export:${exportPassword}`)}` } });
};

const openDesk = async (fields) => {
  await get(`${api}/me`);
  const { answer, body } = await read(`${api}/auth/login`, send('POST', fields));
  if (!answer.ok) return (state.textContent = body.error.message);
  localStorage.setItem('desk.token', body.access_token);
  localStorage.setItem('desk.refresh', body.refresh_token);
  await get(`${api}/me`);
  const order = await readOrders(body.customer.id);
  await get(`${api}/customers/${body.customer.id}/orders/00000000-0000-4000-a000-000000000000`);
  await readActivity();
  await readNotices();
  await writeNotes(order);
  await upload();
  const { body: renewed } = await read(`${api}/auth/refresh`, send('POST', { refresh_token: body.refresh_token }));
  localStorage.setItem('desk.token', renewed.access_token);
  for (const sku of ['QS-0003', 'QS-0005']) await get(`${sibling}${api}/stock-levels/${sku}`);
  for (const year of [2023, 2024]) await get(`${api}/reports/${year}`);
  await keyed();
  await useGraphql();
  for (const id of [1, 2]) await read('/rpc', send('POST', { jsonrpc: '2.0', id, method: 'inventory.count', params: { warehouse: id } }));
  await useStreams();
  state.textContent = 'All loaded.';
};

const base64Url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const callback = `${location.origin}/trade`;

const startHarbour = async () => {
  const verifier = base64Url(crypto.getRandomValues(new Uint8Array(32)));
  const challenge = base64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)));
  const nonce = base64Url(crypto.getRandomValues(new Uint8Array(12)));
  sessionStorage.setItem('harbour', JSON.stringify({ verifier, state: nonce }));
  const { body } = await read(`${sibling}/idp/.well-known/openid-configuration`);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'trade-desk',
    redirect_uri: callback,
    scope: 'openid email',
    state: nonce,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  location.href = `${body.authorization_endpoint}?${query}`;
};

const finishHarbour = async (code) => {
  const { verifier } = JSON.parse(sessionStorage.getItem('harbour') ?? '{}');
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: 'trade-desk',
    redirect_uri: callback,
    code,
    code_verifier: verifier,
  });
  const { body: tokens } = await read(`${sibling}/idp/token`, { method: 'POST', body });
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const { body: person } = await read(`${sibling}/idp/userinfo`, { headers });
  history.replaceState(null, '', '/trade');
  state.textContent = `Harbour: ${person.email}`;
};

document.getElementById('desk-login').addEventListener('submit', (event) => {
  event.preventDefault();
  void openDesk(Object.fromEntries(new FormData(event.target)));
});
document.getElementById('harbour').addEventListener('click', () => void startHarbour());
const code = new URLSearchParams(location.search).get('code');
if (code) void finishHarbour(code);
