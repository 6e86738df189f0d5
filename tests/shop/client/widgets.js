// The workshop's pages: each part looks for its elements and leaves when they are not there.
const on = (selector, type, listener) => document.querySelector(selector)?.addEventListener(type, listener);
const say = (text) => (document.getElementById('said').textContent = text);

addEventListener('click', ({ target }) => {
  const words = target.closest('[data-say]')?.dataset.say;
  if (words) say(words);
  const control = target.closest('.accordion button');
  if (!control) return;
  const open = control.getAttribute('aria-expanded') !== 'true';
  control.setAttribute('aria-expanded', String(open));
  document.getElementById(control.getAttribute('aria-controls')).hidden = !open;
});

const late = document.getElementById('late-place');
if (late) {
  const button = Object.assign(document.createElement('button'), { id: 'late', textContent: 'Here I am' });
  button.dataset.say = 'late';
  setTimeout(() => late.replaceWith(button), 600);
  setTimeout(() => (document.getElementById('enabled-later').disabled = false), 800);
  setTimeout(() => document.getElementById('cover').remove(), 1000);
  setTimeout(() => (document.getElementById('hidden-first').hidden = false), 700);
  document.getElementById('moving').animate([{ left: '0px' }, { left: '420px' }], { duration: 1200, fill: 'forwards' });
}

on('#every', 'submit', (event) => {
  event.preventDefault();
  const fields = {};
  for (const [name, value] of new FormData(event.target)) fields[name] = name === 'rooms' ? [...(fields.rooms ?? []), value] : value;
  for (const field of event.target.elements) if (field.willValidate) field.setAttribute('aria-invalid', String(!field.validity.valid));
  document.getElementById('sent').textContent = JSON.stringify(fields, null, 2);
});

const dialogs = {
  alert: () => say((alert('The kettle is on.'), 'alerted')),
  confirm: () => say(confirm('Pour the tea?') ? 'confirmed' : 'declined'),
  prompt: () => say(`prompted: ${prompt('How many cups?', '2')}`),
  beforeunload: () => {
    addEventListener('beforeunload', (event) => event.preventDefault());
    say('will ask');
  },
  popup: () => say(window.open('/help', 'help', 'width=500,height=400') ? 'opened' : 'refused'),
};
addEventListener('click', ({ target }) => dialogs[target.dataset.dialog]?.());
on('#modal', 'close', ({ target }) => say(`modal: ${target.querySelector('input').value}`));

on('#label', 'dblclick', ({ target }) => {
  const field = Object.assign(document.createElement('input'), { value: target.textContent });
  field.setAttribute('aria-label', 'New label');
  target.replaceChildren(field);
  field.select();
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') target.textContent = field.value;
  });
});
const menu = document.getElementById('context');
on('#target', 'contextmenu', (event) => {
  event.preventDefault();
  menu.hidden = false;
  Object.assign(menu.style, { left: `${event.clientX}px`, top: `${event.clientY}px` });
});
on('#context', 'click', ({ target }) => {
  say(`chosen: ${target.textContent}`);
  menu.hidden = true;
});
if (document.getElementById('key')) {
  addEventListener('keydown', (event) => {
    const held = ['ctrlKey', 'altKey', 'shiftKey', 'metaKey'].filter((name) => event[name]).map((name) => name.slice(0, -3));
    document.getElementById('key').textContent = [...held, event.key].join('+');
    if (event.ctrlKey && event.key === 'k') event.preventDefault();
  });
}

const slider = document.getElementById('slider');
const slide = (x) => {
  const { left, width } = slider.getBoundingClientRect();
  const value = Math.round(Math.min(1, Math.max(0, (x - left) / width)) * 100);
  slider.setAttribute('aria-valuenow', String(value));
  slider.firstElementChild.style.left = `${value * 2.76}px`;
};
on('#slider', 'pointerdown', (event) => {
  slider.setPointerCapture(event.pointerId);
  slide(event.clientX);
});
on('#slider', 'pointermove', (event) => slider.hasPointerCapture(event.pointerId) && slide(event.clientX));
on('#slider', 'keydown', ({ key }) => {
  const step = { ArrowRight: 5, ArrowLeft: -5 }[key];
  const { left, width } = slider.getBoundingClientRect();
  if (step) slide(left + ((Number(slider.getAttribute('aria-valuenow')) + step) / 100) * width);
});

const showArticles = async (query) => {
  const body = JSON.stringify({ operationName: 'LatestArticles', query });
  const answer = await fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { data } = await answer.json();
  const items = data.articles.map(({ title }) => Object.assign(document.createElement('li'), { textContent: title }));
  document.getElementById('live-articles').replaceChildren(...items);
};

const editor = document.getElementById('editor');
on('#editor', 'input', () => {
  document.getElementById('letters').textContent = String(editor.innerText.trim().length);
  document.getElementById('publish').disabled = editor.innerText.trim() === '';
});
on('[role="toolbar"]', 'mousedown', (event) => {
  event.preventDefault();
  const format = event.target.closest('[data-format]')?.dataset.format;
  if (format) document.execCommand(format);
});
on('#publish', 'click', () => (document.getElementById('published').innerHTML = editor.innerHTML));

if (document.getElementById('live-stock')) {
  const events = new EventSource('/api/stock?product=7&count=5');
  events.addEventListener('stock', ({ data, lastEventId }) => {
    document.getElementById('live-stock').textContent = `${JSON.parse(data).stock} in stock`;
    if (lastEventId === '5') events.close();
  });
  const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws`);
  socket.addEventListener('open', () => socket.send(JSON.stringify({ subscribe: 7 })));
  socket.addEventListener('message', ({ data }) => {
    const { type, price, n } = JSON.parse(data);
    if (type === 'price') document.getElementById('live-price').textContent = `${price.toFixed(2)} (${n})`;
  });
  const query = 'query LatestArticles { articles { slug title date } }';
  void showArticles(query);
}
