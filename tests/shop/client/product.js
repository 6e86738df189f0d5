// A product: tabs, thumbnails that load late, the preview window.
const tabs = [...document.querySelectorAll('[role="tab"]')];
const open = (chosen) => {
  for (const tab of tabs) {
    tab.setAttribute('aria-selected', String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    document.getElementById(tab.getAttribute('aria-controls')).hidden = tab !== chosen;
  }
};
for (const [n, tab] of tabs.entries()) {
  tab.addEventListener('click', () => open(tab));
  tab.addEventListener('keydown', ({ key }) => {
    const next = { ArrowRight: tabs[(n + 1) % tabs.length], ArrowLeft: tabs.at(n - 1) }[key];
    if (!next) return;
    open(next);
    next.focus();
  });
}

const lazy = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    lazy.unobserve(target);
    target.src = target.dataset.src;
  }
});
for (const image of document.querySelectorAll('img[data-src]')) lazy.observe(image);

addEventListener('click', ({ target }) => {
  const preview = target.closest('[data-preview]')?.dataset.preview;
  if (preview) window.open(preview, 'preview', 'width=480,height=560');
  if (target.closest('[data-close]')) window.close();
  const wish = target.closest('[data-wish]');
  if (wish) wish.setAttribute('aria-pressed', String(wish.getAttribute('aria-pressed') !== 'true'));
});
