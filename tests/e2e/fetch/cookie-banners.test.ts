/** Cookie banners, in the forms and languages that sites have them: each is answered, and the answer is checked. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { runAgent } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

interface Output {
  outcome: string;
  vendor: string | null;
  clicked: boolean;
  labels: string[];
  closed: boolean | null;
  final_url: string;
}

/** Notifies the site of the answer. */
const notified =
  '<p id=notified></p><script>notified = document.getElementById("notified"); notify = (word) => { notified.textContent += word; fetch("/notified" + location.pathname + "/" + word) }</script>';
const article = `<h1>News</h1><p>${'Some words of the page. '.repeat(20)}</p><footer><a href="/policy">Cookie policy</a> <a href="/settings">Cookie settings</a></footer>`;
const fixed = 'style="position:fixed;bottom:0;left:0;right:0;background:#fff;border:1px solid"';
const button = (label: string, word: string): string =>
  `<button onclick="notify('${word}');this.closest('[data-b]').remove()">${label}</button>`;
const banner = (text: string, accept: string, reject: string, attributes = fixed): string =>
  `<div data-b ${attributes}><p>${text}</p>${button(accept, 'accepted')}${button(reject, 'rejected')}</div>`;

const languages: Record<string, [text: string, accept: string, reject: string]> = {
  English: ['We use cookies.', 'Accept all cookies', 'Necessary only'],
  German: ['Diese Website verwendet Cookies.', 'Alle akzeptieren', 'Nur notwendige Cookies akzeptieren'],
  French: ['Nous utilisons des cookies.', 'Tout accepter', 'Continuer sans accepter'],
  Spanish: ['Utilizamos cookies propias.', 'Aceptar todas', 'Rechazar'],
  Italian: ['Questo sito usa i cookie.', 'Accetta tutti', 'Rifiuta'],
  Portuguese: ['Utilizamos cookies neste site.', 'Aceitar todos', 'Rejeitar'],
  Dutch: ['Wij gebruiken cookies.', 'Alles accepteren', 'Alleen noodzakelijke cookies'],
  Polish: ['Używamy plików cookie.', 'Akceptuję wszystkie', 'Odrzuć wszystkie'],
  Russian: ['Мы используем файлы cookie.', 'Принять все', 'Только необходимые'],
  Ukrainian: ['Ми використовуємо куки.', 'Прийняти всі', 'Відхилити'],
  Turkish: ['Çerez kullanıyoruz.', 'Tümünü kabul et', 'REDDET'],
  Japanese: ['当サイトではクッキーを使用しています。', 'すべて同意する', '同意しない'],
  Chinese: ['本网站使用 Cookie。', '全部接受', '不同意'],
  Korean: ['이 사이트는 쿠키를 사용합니다.', '모두 동의', '동의하지 않음'],
  Swedish: ['Vi använder kakor.', 'Godkänn alla', 'Endast nödvändiga'],
  Danish: ['Vi bruger cookies.', 'Tillad alle', 'Kun nødvendige'],
  Norwegian: ['Vi bruker informasjonskapsler.', 'Godta alle', 'Avvis'],
  Finnish: ['Käytämme evästeitä.', 'Hyväksy kaikki', 'Vain välttämättömät'],
  Czech: ['Používáme soubory cookie.', 'Přijmout vše', 'Odmítnout vše'],
  Hungarian: ['Az oldal sütiket használ.', 'Összes elfogadása', 'Elutasítom'],
  Romanian: ['Folosim cookie-uri.', 'Acceptă toate', 'Respinge tot'],
  Greek: ['Χρησιμοποιούμε cookies.', 'Αποδοχή όλων', 'Απόρριψη όλων'],
  Arabic: ['نستخدم ملفات تعريف الارتباط.', 'قبول الكل', 'رفض الكل'],
  Hebrew: ['אנו משתמשים בקובצי Cookie.', 'אשר הכל', 'דחה הכל'],
  Thai: ['เราใช้คุกกี้', 'ยอมรับทั้งหมด', 'ปฏิเสธทั้งหมด'],
  Vietnamese: ['Chúng tôi sử dụng cookie.', 'Chấp nhận tất cả', 'Từ chối tất cả'],
};

const shadow = (mode: string, inner: string): string =>
  `<aside id=cmp></aside><script>setTimeout(() => {
    const root = cmp.attachShadow({ mode: '${mode}' }); root.innerHTML = ${JSON.stringify(inner)};
    for (const each of root.querySelectorAll('button')) each.onclick = () => { notify(each.name); root.innerHTML = '' } }, 1200)</script>`;
const inShadow = `<div role=dialog aria-label="Datenschutz" ${fixed}><p>Wir verwenden Cookies.</p><button name=accepted>Alle akzeptieren</button><button name=rejected>Ablehnen</button></div>`;
const frameStyle = 'title="Consent" style="position:fixed;bottom:0;left:0;width:100%;height:200px"';
const inFrame = (notify: string): string =>
  `<p>We value your privacy and use cookies.</p><button onclick="${notify.replace('WORD', 'accepted')}">Accept all</button><button onclick="${notify.replace('WORD', 'rejected')}">Reject all</button>`;

const message = (word: string): string => `parent.postMessage('${word}', '*')`;
const onMessage = '<script>onmessage = ({ data }) => { notify(data); f.remove() }</script>';

/** Banners that ask in other forms. */
const forms: Record<string, (other: string) => string> = {
  'in an open shadow root, a second late': () => shadow('open', inShadow),
  'in a closed shadow root': () => shadow('closed', inShadow),
  'in a shadow root of an element of its own within a closed one': () =>
    `<cmp-root></cmp-root><script>const root = document.querySelector('cmp-root').attachShadow({ mode: 'closed' });
      root.innerHTML = '<section><cmp-banner></cmp-banner></section>';
      const inner = root.querySelector('cmp-banner').attachShadow({ mode: 'closed' }); inner.innerHTML = ${JSON.stringify(inShadow)};
      for (const each of inner.querySelectorAll('button')) each.onclick = () => { notify(each.name); root.innerHTML = '' }</script>`,
  'in a frame of the page': () =>
    `<iframe id=f ${frameStyle} srcdoc="${inFrame("parent.notify('WORD');parent.f.remove()").replaceAll('"', '&quot;')}"></iframe>`,
  'in a frame of another site': (other) => `<iframe id=f ${frameStyle} src="${other}/cmp"></iframe>${onMessage}`,
  'in a frame in a shadow root': (other) =>
    `<div id=host></div><script>const root = host.attachShadow({ mode: 'closed' }); root.innerHTML = '<iframe ${frameStyle} src="${other}/cmp"></iframe>';
      onmessage = ({ data }) => { notify(data); root.innerHTML = '' }</script>`,
  'whose buttons are links and elements with a role': () =>
    `<div data-b class="cookie-bar" ${fixed}>We use cookies. <a href="#" onclick="notify('rejected');this.parentNode.remove();return false">Decline</a>
      <div role=button tabindex=0 onclick="notify('accepted');this.parentNode.remove()">Got it!</div></div>`,
  'whose buttons are elements that only a script listens to': () =>
    `<div ${fixed} id=x>This site uses cookies. <div><span style="cursor:pointer" id=n>Deny</span> <span style="cursor:pointer" id=y>Allow all</span></div></div>
      <script>n.addEventListener('click', () => { notify('rejected'); x.remove() }); y.addEventListener('click', () => { notify('accepted'); x.remove() })</script>`,
  'that reads as a sentence and has icons': () =>
    `<section data-b aria-label="Cookie consent">We and our partners store cookies.
      <button onclick="notify('accepted');this.parentNode.remove()"><svg></svg><span>Yes, I accept all cookies &amp; continue</span></button>
      <button aria-label="Close and reject all cookies" onclick="notify('rejected');this.parentNode.remove()">×</button></section>`,
  'in the flow of the page': () =>
    `<div data-b><p>We use cookies on this website.</p>${button('Accept all', 'accepted')}${button('Reject', 'rejected')}</div>`,
  'that names privacy and partners only': () =>
    banner('We and our partners process personal data. You can withdraw your consent at any time.', 'Agree', 'Disagree', 'role=dialog'),
  'that fades out': () =>
    `<div ${fixed} class=cookies><style>.cookies { transition: transform .8s } .cookies.off { transform: translateY(200%) }</style>We use cookies.
      <button onclick="notify('accepted');this.parentNode.classList.add('off')">OK</button><button onclick="notify('rejected');this.parentNode.classList.add('off')">No, thanks</button></div>`,
};

/** Banners with settings behind them. */
const layers: Record<string, string> = {
  'that replace the banner': `<div id=b class="cookie-consent" style="position:fixed;bottom:0"><p>This site uses cookies</p><button id=ok>OK</button><button id=m>Manage settings</button></div>
    <script>ok.onclick = () => { notify('accepted'); b.remove() }; m.onclick = () => { b.innerHTML = '<button id=n>Save and reject non-essential</button>'; n.onclick = () => { notify('rejected'); b.remove() } }</script>`,
  'in a dialog of their own that comes late': `<div id=b ${fixed}><p>Wir nutzen Cookies.</p><button onclick="notify('accepted');b.remove()">Akzeptieren</button><a href="#" id=m>Einstellungen</a></div>
    <div id=d role=dialog hidden style="position:fixed;inset:50px;background:#eee"><h2>Cookie-Einstellungen</h2><button onclick="notify('rejected');b.remove();d.remove()">Alle ablehnen</button></div>
    <script>m.onclick = (event) => { event.preventDefault(); setTimeout(() => { d.hidden = false }, 700) }</script>`,
  'with switches that are on': `<div id=b class=consent ${fixed}><p>Nous utilisons des cookies.</p><button onclick="notify('accepted');b.remove()">J'accepte</button><button id=m>Personnaliser</button>
    <div id=d hidden><label><input type=checkbox checked disabled> Nécessaires</label><label><input type=checkbox checked id=one> Mesure</label>
    <style>.s input { opacity: 0; width: 1px; height: 1px; position: absolute }</style><label class=s><input type=checkbox checked id=two> <span>Publicité</span></label>
    <span role=switch aria-checked=true tabindex=0 id=three onclick="this.ariaChecked = String(this.ariaChecked !== 'true')">Partage</span>
    <button id=s>Enregistrer mes choix</button></div></div>
    <script>m.onclick = () => { d.hidden = false }; s.onclick = () => { notify(one.checked || two.checked || three.ariaChecked === 'true' ? 'some' : 'rejected'); b.remove() }</script>`,
  'where a refusal only turns off what is then saved': `<div id=b class="cookie-modal" role=dialog ${fixed}><p>We use cookies.</p><button onclick="notify('accepted');b.remove()">Accept all</button>
    <button onclick="one.checked = false">Reject all</button><label><input type=checkbox id=one checked> Marketing</label><button onclick="notify(one.checked ? 'some' : 'rejected');b.remove()">Confirm my choices</button></div>`,
  'in another frame': `<iframe id=f ${frameStyle} src="OTHER/cmp-first"></iframe><script>onmessage = ({ data }) => {
      if (data !== 'settings') { notify(data); document.querySelectorAll('iframe').forEach((each) => each.remove()); return }
      const more = document.createElement('iframe'); more.style = 'position:fixed;inset:20px;width:600px;height:400px'; more.src = 'OTHER/cmp-second'; document.body.append(more) }</script>`,
};

const nothing: Record<string, string> = {
  'no banner at all': '',
  'a newsletter in a dialog': `<div role=dialog ${fixed}><h2>Get 10% off</h2><p>By signing up you accept our privacy and cookie policy.</p><input type=email placeholder="Your e-mail"><button onclick="notify('wrong')">Subscribe</button><button onclick="notify('wrong')">No, thanks</button></div>`,
  'an offer in a dialog': `<div role=dialog ${fixed}><p>Get 10% off your first order.</p><button onclick="notify('wrong')">Accept offer</button><button onclick="notify('wrong')">No, thanks</button></div>`,
  'a question about age': `<div role=dialog ${fixed}><p>Are you over 18?</p><button onclick="notify('wrong')">Yes</button><button onclick="notify('wrong')">Decline</button></div>`,
  'a recipe for cookies': `<main><h2>Chocolate chip cookies</h2><p>${'Mix the butter with the sugar. '.repeat(40)}</p><button onclick="notify('wrong')">Save</button><button onclick="notify('wrong')">OK</button></main>`,
  'a header that is fixed': `<header ${fixed}><a href="/">Cakes</a> <a href="/cookies">Cookies</a> <a href="/settings">Settings</a> <button onclick="notify('wrong')">Save</button></header>`,
  'a button to open the choices again': `<button class="cookie-settings" style="position:fixed;left:0;bottom:0" onclick="notify('wrong')">Cookie settings</button><div class="cookie-revoke" ${fixed}><button onclick="notify('wrong')">Cookie preferences</button></div>`,
  'a banner that is hidden': `<div class=cookie-banner hidden>${banner('We use cookies.', 'Accept', 'Reject')}</div>`,
};

let site: Site;
let other: Site;
let service: Service;
let client: Client;
before(async () => {
  const html = (body: string) => (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page('News', body));
  const all = (name: string, bodies: string[]) =>
    bodies.map((body, index) => [`/${name}/${index}`, html(article + notified + body)] as const);
  other = await startSite({
    pages: {
      '/cmp': page('Consent', inFrame(message('WORD'))),
      '/cmp-first': page(
        'Consent',
        `<p>We use cookies.</p><button onclick="${message('accepted')}">Accept</button><button onclick="${message('settings')}">More options</button>`,
      ),
      '/cmp-second': page('Consent', `<p>Cookies of our partners</p><button onclick="${message('rejected')}">Reject all</button>`),
    },
  });
  // Another site to the browser, under another name of this machine.
  const otherUrl = other.url.replace('127.0.0.1', 'localhost');
  site = await startSite({
    pages: Object.fromEntries([
      ...all(
        'language',
        Object.values(languages).map((words) => banner(...words)),
      ),
      ...all(
        'form',
        Object.values(forms).map((form) => form(otherUrl)),
      ),
      ...all(
        'layer',
        Object.values(layers).map((body) => body.replaceAll('OTHER', otherUrl)),
      ),
      ...all('nothing', Object.values(nothing)),
      [
        '/navigates',
        (request: IncomingMessage, response: ServerResponse) => {
          const { searchParams } = new URL(request.url ?? '', 'http://site');
          const { cookie = '' } = request.headers;
          const has = cookie.includes('answered');
          const ask = `<div class="cookies" ${fixed}>We use cookies. <a href="?choice=accepted">Accept</a> <a href="?choice=rejected">Reject</a></div>`;
          if (searchParams.has('choice'))
            response.writeHead(302, { location: '/navigates', 'set-cookie': `answered=${searchParams.get('choice')}` }).end();
          else
            html(`${article}${notified}${has ? `<script>notify('${/answered=(\w+)/.exec(cookie)?.[1]}')</script>` : ask}`)(
              request,
              response,
            );
        },
      ],
      [
        '/second',
        html(
          article +
            notified +
            banner('We use cookies.', 'Accept', 'Reject') +
            `<script>new MutationObserver((_, me) => { me.disconnect();
        document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(banner('We use cookies for advertising, too.', 'Accept all', 'Reject all').replace("notify('rejected')", "notify('both')"))}) }).observe(notified, { childList: true })</script>`,
        ),
      ],
      [
        '/stays',
        html(article + notified + `<div class=cookies ${fixed}>We use cookies. <button onclick="notify('x')">Reject</button></div>`),
      ],
      [
        '/only-ok',
        html(
          article +
            notified +
            `<div class=cookies ${fixed}>We use cookies. <button onclick="notify('wrong')">OK</button> <a href="/policy">Read more</a></div>`,
        ),
      ],
      ['/pay', html(article + notified + banner('We use cookies for advertising.', 'Accept all', 'Reject and subscribe'))],
      [
        '/elsewhere',
        html(
          article +
            notified +
            `<div class=cookies ${fixed}>We use cookies. <button onclick="notify('wrong')">OK</button> <a href="/policy">Manage preferences</a></div>`,
        ),
      ],
      ['/policy', html('<h1>Cookies</h1><p>What we store.</p>')],
      [
        '/message',
        html(
          article +
            notified +
            `<div id=b class="govuk-cookie-banner">We use cookies. <button onclick="notify('rejected');b.innerHTML='You have rejected cookies. You can <a href=/policy>change your cookie settings</a> at any time.'">Reject additional cookies</button></div>`,
        ),
      ],
      [
        '/disabled',
        html(
          article +
            notified +
            `<div class=cookies ${fixed}>We use cookies. <button disabled>Reject</button> <button onclick="notify('wrong')">Accept</button></div>`,
        ),
      ],
      [
        '/covered',
        html(article + notified + banner('We use cookies.', 'Accept', 'Reject') + '<div style="position:fixed;inset:0;z-index:9"></div>'),
      ],
    ]),
  });
  service = await Service.start({
    environment: { BERTH_EGRESS_ALLOW: `${site.host},${other.host},localhost:${other.host.split(':')[1]}` },
  });
  client = service.client;
});
after(async () => {
  await service.close();
  await Promise.all([site.close(), other.close()]);
});

/** The flow's output and its warnings, and what the site was notified meanwhile. */
async function answer(path: string, choice: 'accept' | 'reject', more: Record<string, unknown> = {}) {
  const before = notifiedAt(path).length;
  const reply = await client.call(runAgent, { body: { task: 'accept_cookies', inputs: { url: site.url + path, choice, ...more } } });
  assert.equal(reply.status, 200, reply.text);
  const { output, status, warnings, error, steps } = reply.body;
  assert.equal(status, 'ok', JSON.stringify([error, steps]));
  return { ...(output as Output), warnings, notified: notifiedAt(path).slice(before) };
}

const notifiedAt = (path: string): string[] => {
  const start = `/notified${path}/`;
  return site.hits.filter((hit) => hit.startsWith(start)).map((hit) => decodeURIComponent(hit.slice(start.length)));
};

async function isAnswered(path: string, choice: 'accept' | 'reject'): Promise<void> {
  const word = `${choice}ed`;
  const result = await answer(path, choice);
  assert.deepEqual([result.outcome, result.notified, result.closed, result.clicked], [word, [word], true, true], JSON.stringify(result));
}

/** One after the other, because the site knows its pages only by their path. */
const both = (what: string, path: string): void => {
  it(`a cookie banner ${what}`, async () => {
    await isAnswered(path, 'reject');
    await isAnswered(path, 'accept');
  });
};

describe('a cookie banner', { concurrency: 3 }, () => {
  for (const [index, language] of Object.keys(languages).entries()) both(`in ${language} is answered`, `/language/${index}`);
  for (const [index, form] of Object.keys(forms).entries()) both(`${form} is answered`, `/form/${index}`);
  for (const [index, layer] of Object.keys(layers).entries()) both(`with settings ${layer} is answered`, `/layer/${index}`);
  both('that navigates is answered', '/navigates');

  it('a cookie banner is answered once more where a second one follows', async () => {
    const { outcome, labels, notified: words } = await answer('/second', 'reject');
    assert.deepEqual([outcome, labels, words], ['rejected', ['Reject', 'Reject all'], ['rejected', 'both']]);
  });
});

describe('a page', { concurrency: 3 }, () => {
  for (const [index, name] of Object.keys(nothing).entries())
    it(`a page with ${name} has no banner, and nothing is clicked`, async () => {
      const result = await answer(`/nothing/${index}`, 'reject', { wait_ms: 500 });
      assert.deepEqual(
        [result.outcome, result.vendor, result.clicked, result.closed, result.notified],
        ['no_banner', null, false, null, []],
      );
    });
});

describe('what could not be done is reported:', { concurrency: 3 }, () => {
  const cases: [string, string, Partial<Output> & { warnings: string[]; notified: string[] }][] = [
    [
      'a banner that stays',
      '/stays',
      { outcome: 'not_confirmed', clicked: true, closed: false, warnings: ['banner_still_shown'], notified: ['x'] },
    ],
    [
      'a banner that only informs',
      '/only-ok',
      { outcome: 'not_offered', clicked: false, closed: false, warnings: ['choice_not_offered'], notified: [] },
    ],
    [
      'a refusal that costs money',
      '/pay',
      { outcome: 'not_offered', clicked: false, closed: false, warnings: ['choice_not_offered'], notified: [] },
    ],
    [
      'settings that lead elsewhere',
      '/elsewhere',
      { outcome: 'not_offered', clicked: false, labels: ['Manage preferences'], warnings: ['choice_not_offered'], notified: [] },
    ],
    [
      'a message that stays after the choice',
      '/message',
      { outcome: 'rejected', clicked: true, closed: false, warnings: [], notified: ['rejected'] },
    ],
    ['a button that is disabled', '/disabled', { outcome: 'not_offered', clicked: false, warnings: ['choice_not_offered'], notified: [] }],
    ['a button that is covered', '/covered', { outcome: 'not_clicked', clicked: false, closed: false, warnings: [], notified: [] }],
  ];
  for (const [what, path, expected] of cases)
    it(`what could not be done about a cookie banner is reported: ${what}`, async () => {
      const result = await answer(path, 'reject', { wait_ms: 500 });
      const part = Object.fromEntries(Object.keys(expected).map((key) => [key, result[key as keyof typeof result]]));
      assert.deepEqual(part, expected, JSON.stringify(result));
      assert.equal(result.final_url, site.url + path);
    });
});
