// The order waits for both frames: the address of this origin, the card's token of the other.
const box = document.getElementById('checkout');
const button = document.getElementById('place-order');
const state = document.getElementById('checkout-state');
const payment = new URL(document.querySelector('iframe[name="payment"]').src).origin;
const given = {};

addEventListener('message', ({ data, origin }) => {
  if (origin === location.origin && data.address) given.address = data.address;
  if (origin === payment && data.token) given.token = data.token;
  button.disabled = !(given.address && given.token);
  if (!button.disabled) state.textContent = 'Ready.';
});
const order = async () => {
  button.disabled = true;
  const headers = { 'content-type': 'application/json', 'x-csrf-token': box.dataset.csrf };
  const answer = await fetch('/api/orders', { method: 'POST', headers, body: JSON.stringify(given) });
  const placed = await answer.json();
  if (answer.ok) location.href = placed.url;
  else state.textContent = placed.error.message;
};
button.addEventListener('click', () => void order());
