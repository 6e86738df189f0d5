/** Test pages for controls that are hard to automate. */
import { products } from '../data.ts';
import { page } from './layout.ts';
import { dataScript, markup, type Markup } from './markup.ts';
import type { Call, Reply, Routes } from '../wire.ts';

interface Workbench {
  title: string;
  body: Markup;
}

export const widgetRoutes: Routes = {
  'GET /widgets': index,
  'GET /widgets/:name': workbench,
  'GET /help': help,
  'GET /wishlist': wishlist,
  'GET /sw-page': serviceWorkerPage,
};

function index(call: Call): Reply {
  const list = Object.entries(benches).map(([name, { title }]) => markup`<li><a href="/widgets/${name}">${title}</a></li>`);
  return page(call, {
    title: 'Workshop',
    body: markup`<h1>Workshop</h1><ul>${list}<li><a href="/wishlist">Wishlist</a></li><li><a href="/sw-page">Offline</a></li></ul>`,
  });
}

function workbench(call: Call): Reply {
  const bench = benches[call.params.name ?? ''];
  if (!bench) return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such workbench</h1>` });
  return page(call, {
    title: bench.title,
    body: markup`<h1>${bench.title}</h1><div class="bench">${bench.body}</div><p id="said" role="status"></p>`,
    scripts: ['widgets'],
  });
}

const timing: Workbench = {
  title: 'Things that take their time',
  body: markup`<section><h2>Late</h2><p id="late-place">A button comes in a moment.</p></section>
<section><h2>Disabled first</h2><button id="enabled-later" data-say="enabled" disabled>Reserve</button></section>
<section><h2>Moving</h2><div class="track"><button id="moving" data-say="caught">Catch me</button></div></section>
<section class="covered"><h2>Covered</h2><button id="covered" data-say="uncovered">Under the cover</button><div id="cover">Please wait…</div></section>
<section><h2>Hidden first</h2><p id="hidden-first" hidden>Now you see me.</p></section>`,
};

const forms: Workbench = {
  title: 'Every kind of field',
  body: markup`<form id="every" class="stack" novalidate>
<label for="full-name">Full name</label><input id="full-name" name="full_name" required>
<label>E-mail <input name="email" type="email"></label>
<input name="nickname" placeholder="Nickname">
<input name="company" aria-label="Company">
<label for="born">Date of birth</label><input id="born" name="born" type="date">
<label for="volume">Volume</label><input id="volume" name="volume" type="range" min="0" max="10" value="5">
<label for="colour">Colour</label><input id="colour" name="colour" type="color" value="#0f4c5c">
<label for="country">Country</label><select id="country" name="country"><option value="">Choose…</option><option value="nl">Netherlands</option><option value="pt">Portugal</option><option value="pl">Poland</option></select>
<label for="rooms">Rooms</label><select id="rooms" name="rooms" multiple size="4"><option value="kitchen">Kitchen</option><option value="study">Study</option><option value="garden">Garden</option><option value="hall">Hall</option></select>
<fieldset><legend>Delivery</legend><label class="check"><input type="radio" name="delivery" value="post" checked> By post</label><label class="check"><input type="radio" name="delivery" value="bike"> By bicycle</label><label class="check"><input type="radio" name="delivery" value="pickup"> I collect it</label></fieldset>
<label class="check"><input type="checkbox" name="gift" value="yes"> It is a gift</label>
<label for="note">Note</label><textarea id="note" name="note" maxlength="200"></textarea>
<button class="primary" data-testid="send">Send</button></form><pre id="sent" data-testid="sent"></pre>`,
};

const dialogs: Workbench = {
  title: 'Dialogs',
  body: markup`<div class="row"><button data-dialog="alert">Alert</button> <button data-dialog="confirm">Confirm</button> <button data-dialog="prompt">Prompt</button>
<button data-dialog="beforeunload">Ask before leaving</button> <button data-modal="modal">Open modal</button> <button data-dialog="popup">Open window</button></div>
<dialog id="modal" aria-labelledby="modal-title"><h2 id="modal-title">A modal</h2><form method="dialog"><label>Reason <input name="reason"></label> <button value="ok">Confirm reason</button></form></dialog>`,
};

const pointer: Workbench = {
  title: 'Pointer and keys',
  body: markup`<section><h2>Double click to edit</h2><p class="editable" id="label" tabindex="0">Double click this label</p></section>
<section><h2>Right click</h2><p class="target" id="target">Right click here</p><ul class="context" id="context" role="menu" hidden><li role="menuitem" tabindex="0">Copy link</li><li role="menuitem" tabindex="0">Remove</li></ul></section>
<section><h2>Hover</h2><div class="menu"><button type="button" aria-haspopup="true">More</button><ul class="drop"><li><button type="button" data-say="archived">Archive</button></li></ul></div></section>
<section><h2>Keys</h2><p>Press <kbd>/</kbd> for search, <kbd>Ctrl</kbd>+<kbd>K</kbd> for commands.</p><p id="key">–</p></section>
<section><h2>Hold and drag</h2><div id="slider" role="slider" tabindex="0" aria-label="Brightness" aria-valuemin="0" aria-valuemax="100" aria-valuenow="0"><span></span></div></section>`,
};

const editor: Workbench = {
  title: 'Write a review',
  body: markup`<div class="row" role="toolbar" aria-label="Formatting"><button type="button" data-format="bold" aria-label="Bold"><b>B</b></button><button type="button" data-format="italic" aria-label="Italic"><i>I</i></button></div>
<div id="editor" contenteditable="true" role="textbox" aria-multiline="true" aria-label="Your review"></div><p><span id="letters">0</span> letters</p><button class="primary" id="publish" disabled>Publish</button><div id="published"></div>`,
};

const live: Workbench = {
  title: 'Live prices',
  body: markup`<section><h2>Stock</h2><p id="live-stock">–</p></section><section><h2>Price</h2><p id="live-price">–</p></section><section><h2>Articles</h2><ul id="live-articles"></ul></section>`,
};

const benches: Record<string, Workbench> = { timing, forms, dialogs, pointer, editor, live };

const questions = [
  ['How long does delivery take?', 'Two to four days within the Union.'],
  ['Can I return things?', 'Yes, for sixty days, used or not.'],
  ['Do you repair?', 'Everything we sell, for ten years.'],
] as const;

function help(call: Call): Reply {
  const linked = {
    '@context': 'https://schema.org',
    '@type': 'FAQPage',
    mainEntity: questions.map(([name, answer]) => ({ '@type': 'Question', name, acceptedAnswer: { '@type': 'Answer', text: answer } })),
  };
  const body = markup`<h1>Help</h1><div class="accordion">${questions.map(
    ([question, answer], n) =>
      markup`<h2><button type="button" aria-expanded="false" aria-controls="answer-${n}">${question}</button></h2><div id="answer-${n}" hidden><p>${answer}</p></div>`,
  )}</div><h2>Terms</h2><details><summary>The small print</summary><p>There is none.</p></details>`;
  return page(call, { title: 'Help', head: dataScript('application/ld+json', 'faq-data', linked), body, scripts: ['widgets'] });
}

/** Two lists: one sorts by HTML drag and drop, one by pointer events. */
function wishlist(call: Call): Reply {
  const wished = products.filter(({ id }) => [3, 57, 112, 164].includes(id));
  const body = markup`<h1>Wishlist</h1><p>Drag to sort.</p><div class="two">
<section><h2>By drag and drop</h2><ol class="sortable" id="dnd">${wished.map(({ id, name }) => markup`<li draggable="true" data-id="${id}">${name}</li>`)}</ol></section>
<section><h2>By pointer</h2><ol class="sortable" id="by-pointer">${wished.map(({ id, name }) => markup`<li data-id="${id}">${name}</li>`)}</ol></section></div><p id="order" role="status"></p>`;
  return page(call, { title: 'Wishlist', body, scripts: ['wishlist'] });
}

function serviceWorkerPage(call: Call): Reply {
  return page(call, {
    title: 'Offline',
    body: markup`<h1>Offline</h1><p id="worker" role="status">Starting…</p><p><a href="/offline/hello">A page that only the worker has</a></p>`,
    scripts: ['offline'],
  });
}
