// Two ways to sort a list: the drag and drop of HTML, and pointer events.
const told = (list) => (document.getElementById('order').textContent = [...list.children].map(({ dataset }) => dataset.id).join(', '));
const place = (held, over, y) => {
  if (!over || over === held || over.parentElement !== held.parentElement) return;
  const { top, height } = over.getBoundingClientRect();
  if (y < top + height / 2) over.before(held);
  else over.after(held);
};

const dnd = document.getElementById('dnd');
let dragged;
dnd.addEventListener('dragstart', ({ target, dataTransfer }) => {
  dragged = target;
  dataTransfer.setData('text/plain', target.dataset.id);
  dataTransfer.effectAllowed = 'move';
});
dnd.addEventListener('dragover', (event) => event.preventDefault());
dnd.addEventListener('drop', (event) => {
  event.preventDefault();
  place(dragged, event.target.closest('li'), event.clientY);
  told(dnd);
});

const pointed = document.getElementById('by-pointer');
let held;
pointed.addEventListener('pointerdown', (event) => {
  held = event.target.closest('li');
  if (!held) return;
  held.classList.add('held');
  pointed.setPointerCapture(event.pointerId);
});
pointed.addEventListener(
  'pointermove',
  ({ clientX, clientY }) => held && place(held, document.elementFromPoint(clientX, clientY)?.closest('li'), clientY),
);
pointed.addEventListener('pointerup', () => {
  held?.classList.remove('held');
  held = undefined;
  told(pointed);
});
