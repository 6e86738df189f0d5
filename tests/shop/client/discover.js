// The endless list: a page of the API each time its end comes into view.
const feed = document.getElementById('feed');
const euros = new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' });
let page = 0;
let pages = 1;
let loading = false;

const card = ({ id, name, price, url, image }) => {
  const item = document.createElement('li');
  item.className = 'card';
  item.dataset.product = id;
  const link = Object.assign(document.createElement('a'), { href: url });
  const heading = Object.assign(document.createElement('h3'), { textContent: name });
  link.append(Object.assign(document.createElement('img'), { loading: 'lazy', width: 320, height: 320, alt: '', src: image }), heading);
  item.append(link, Object.assign(document.createElement('p'), { className: 'price', textContent: euros.format(price) }));
  return item;
};

const more = async () => {
  if (loading || page >= pages) return;
  loading = true;
  feed.setAttribute('aria-busy', 'true');
  const answer = await fetch(`/api/products?page=${page + 1}`);
  const found = await answer.json();
  ({ page, pages } = found);
  feed.append(...found.items.map(card));
  document.getElementById('discovered').textContent = `${feed.children.length} of ${found.total} products`;
  feed.setAttribute('aria-busy', 'false');
  document.getElementById('feed-end').hidden = page < pages;
  loading = false;
  // The observer speaks only of changes: a list that is still too short must be asked for again.
  ends.unobserve(sentinel);
  ends.observe(sentinel);
};

const sentinel = document.getElementById('sentinel');
const ends = new IntersectionObserver(
  (entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) void more();
  },
  { rootMargin: '200px' },
);
ends.observe(sentinel);
