/** How sites change under a flow: each function runs in the page, where the element that is meant has `data-meant`. */

export interface Mutation {
  name: string;
  /** Source text of a function without arguments. */
  script: string;
  /** Whether the element is gone: then nothing else may be taken for it. */
  isTrap?: boolean;
}

const renameClasses = `for (const element of document.querySelectorAll('[class]'))
  element.setAttribute('class', [...element.classList].map((name, i) => 'css-' + (name.length * 7919 + i).toString(36) + 'x9').join(' '));`;
const renameIds = `for (const element of document.querySelectorAll('[id]')) {
  const [id, fresh] = [element.id, 'r' + (element.id.length * 104729 + element.id.charCodeAt(0)).toString(36) + '7'];
  for (const name of ['for', 'aria-labelledby', 'aria-controls'])
    for (const other of document.querySelectorAll('[' + name + '="' + CSS.escape(id) + '"]')) other.setAttribute(name, fresh);
  element.id = fresh;
}`;
const removeTestIds = `for (const element of document.querySelectorAll('[data-testid]')) element.removeAttribute('data-testid');`;
const wrap = `const meant = document.querySelector('[data-meant]');
const outer = document.createElement('div'); const inner = document.createElement('div');
meant.replaceWith(outer); outer.append(inner); inner.append(meant);`;
const move = `const part = document.querySelector('[data-meant]').closest('form, .row, ul, .mine') ?? document.querySelector('[data-meant]');
document.querySelector('#main, main').append(part);`;
const translate = `const other = (text) => text.replace(/[a-zé]/g, (letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + 7) % 26)));
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) walker.currentNode.nodeValue = other(walker.currentNode.nodeValue);
for (const name of ['placeholder', 'aria-label', 'title', 'alt'])
  for (const element of document.querySelectorAll('[' + name + ']')) element.setAttribute(name, other(element.getAttribute(name)));`;
const reorder = `const parent = document.querySelector('[data-meant]').parentElement;
for (const child of [...parent.children].reverse()) parent.append(child);`;
const duplicate = `const copy = document.querySelector('[data-meant]').cloneNode(true); copy.removeAttribute('data-meant'); copy.removeAttribute('id');
const section = document.createElement('section'); const heading = document.createElement('h2');
heading.textContent = 'Something else altogether'; section.append(heading, copy); document.body.append(section);`;
const remove = `document.querySelector('[data-meant]').remove();`;

const all = (...parts: string[]): string => parts.map((part) => `{ ${part} }`).join('\n');

export const mutations: Mutation[] = [
  { name: 'classes renamed', script: renameClasses },
  { name: 'ids renamed', script: renameIds },
  { name: 'classes, ids and test ids renamed', script: all(renameClasses, renameIds, removeTestIds) },
  { name: 'wrapped', script: all(renameIds, wrap) },
  { name: 'moved', script: all(renameIds, move) },
  { name: 'translated', script: translate },
  { name: 'reordered', script: all(renameIds, reorder) },
  { name: 'duplicated', script: all(renameIds, duplicate) },
  {
    name: 'renamed, wrapped and reordered',
    script: all(renameClasses, renameIds, removeTestIds, reorder, wrap),
  },
  { name: 'removed', script: remove, isTrap: true },
  { name: 'removed from a redesigned page', script: all(renameClasses, renameIds, removeTestIds, remove), isTrap: true },
];

export interface Target {
  path: string;
  css: string;
}

/** Elements that flows use, of the fixture shop. */
export const targets: Target[] = [
  { path: '/login', css: '#email' },
  { path: '/login', css: '#password' },
  { path: '/login', css: '#login [name=remember]' },
  { path: '/login', css: '#login button' },
  { path: '/', css: '#q' },
  { path: '/', css: '.search button' },
  { path: '/', css: 'nav.main a[href="/journal"]' },
  { path: '/', css: 'a.account' },
  { path: '/', css: 'a[href="/wishlist"]' },
  { path: '/products/amber-desk-lamp', css: '#quantity' },
  { path: '/products/amber-desk-lamp', css: '#add-to-cart' },
  { path: '/products/amber-desk-lamp', css: '[data-wish]' },
  { path: '/products/amber-desk-lamp', css: '[data-preview]' },
  { path: '/products/amber-desk-lamp', css: '#tab-1' },
  { path: '/products/amber-desk-lamp', css: '[data-testid=price]' },
  { path: '/products/amber-desk-lamp', css: '#stock' },
  { path: '/support', css: '#subject' },
  { path: '/support', css: '#message' },
  { path: '/support', css: '#files' },
  { path: '/search?q=lamp', css: '#sort' },
  { path: '/search?q=lamp', css: '[name=min]' },
  { path: '/search?q=lamp', css: '[value=Oak]' },
  { path: '/search?q=lamp', css: '[name=in_stock]' },
  { path: '/search?q=lamp', css: '.filters button' },
];
