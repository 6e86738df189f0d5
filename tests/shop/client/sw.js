// Answers everything under /offline/, which the server does not have.
addEventListener('install', () => self.skipWaiting());
addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url);
  if (!pathname.startsWith('/offline/')) return;
  const body = `<!doctype html><html lang="en"><title>Offline</title><h1>From the worker</h1><p id="path">${pathname.replace(/[^\w/-]/g, '')}</p></html>`;
  event.respondWith(new Response(body, { headers: { 'content-type': 'text/html; charset=utf-8' } }));
});
