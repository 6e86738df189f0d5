// On every page: consent, newsletter, search suggestions, shortcuts, the cart.
const find = (selector) => document.querySelector(selector);
const toast = (text) => {
  find('#toast').textContent = text;
  setTimeout(() => (find('#toast').textContent = ''), 4000);
};

const consent = find('#consent');
const choose = (choice) => {
  document.cookie = `consent=${choice}; Path=/; SameSite=Lax; Max-Age=15552000`;
  consent.remove();
  if (choice === 'all') navigator.sendBeacon('/api/collect', JSON.stringify({ page: location.pathname }));
};
consent?.addEventListener('click', ({ target }) => {
  const choice = target.dataset.consent;
  if (choice === 'settings') find('#consent-settings').hidden = false;
  else if (choice) choose(choice);
});
find('#consent-settings')?.addEventListener('submit', (event) => {
  event.preventDefault();
  choose(['necessary', ...new FormData(event.target).keys()].join('+'));
});

const newsletter = find('#newsletter');
const offerNewsletter = () => {
  if (scrollY < 700 || localStorage.getItem('newsletter') || location.pathname !== '/') return;
  localStorage.setItem('newsletter', 'offered');
  newsletter.hidden = false;
};
addEventListener('scroll', offerNewsletter, { passive: true });
newsletter.querySelector('.close').addEventListener('click', () => (newsletter.hidden = true));

const input = find('#q');
const list = find('#suggestions');
const showSuggestions = (suggestions) => {
  list.replaceChildren(
    ...suggestions.map(({ name, url }, n) => {
      const option = document.createElement('li');
      Object.assign(option, { id: `suggestion-${n}`, role: 'option', textContent: name });
      option.dataset.url = url;
      option.setAttribute('aria-selected', 'false');
      return option;
    }),
  );
  list.hidden = suggestions.length === 0;
  input.setAttribute('aria-expanded', String(!list.hidden));
};
let asked = 0;
const suggest = async () => {
  const mine = (asked += 1);
  const answer = await fetch(`/api/suggest?q=${encodeURIComponent(input.value)}`);
  const { suggestions } = await answer.json();
  if (mine === asked) showSuggestions(suggestions);
};
input.addEventListener('input', () => void suggest());
input.addEventListener('keydown', (event) => {
  const options = [...list.children];
  const at = options.findIndex((option) => option.getAttribute('aria-selected') === 'true');
  if (event.key === 'Escape') showSuggestions([]);
  if (event.key === 'Enter' && at >= 0) {
    event.preventDefault();
    location.href = options[at].dataset.url;
  }
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const next = (at + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % options.length;
  for (const [n, option] of options.entries()) option.setAttribute('aria-selected', String(n === next));
  input.setAttribute('aria-activedescendant', `suggestion-${next}`);
});
list.addEventListener('mousedown', ({ target }) => {
  if (target.dataset.url) location.href = target.dataset.url;
});

addEventListener('keydown', (event) => {
  const writing = event.target.matches('input, textarea, select, [contenteditable]');
  if (event.key !== '/' || writing) return;
  event.preventDefault();
  input.focus();
});

const addToCart = async (id, quantity) => {
  const body = JSON.stringify({ product_id: id, quantity });
  const answer = await fetch('/api/cart', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const cart = await answer.json();
  if (answer.ok) find('#cart-count').textContent = cart.count;
  toast(answer.ok ? 'Added to your cart' : cart.error.message);
};
addEventListener('submit', (event) => {
  const id = Number(event.target.dataset.add);
  if (!id) return;
  event.preventDefault();
  void addToCart(id, Number(new FormData(event.target).get('quantity')));
});

addEventListener('click', ({ target }) => {
  const modal = target.closest('[data-modal]')?.dataset.modal;
  if (modal) document.getElementById(modal).showModal();
});
find('#sort')?.addEventListener('change', ({ target }) => target.form.requestSubmit());
