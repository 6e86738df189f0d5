/** What pages add where scripts run. Without it, code is selected by hand, and each page shows the first language. */
'use strict';

const storedLanguage = 'berth.docs.language';

/** Links of earlier versions name an operation after the hash: `/docs#/Sessions/createSession`. */
function openOperation() {
  const [, operation] = /^#\/[^/]+\/(\w+)$/.exec(location.hash) ?? [];
  const link = operation && document.querySelector(`a[href="/docs/reference/${operation}"]`);
  if (link && location.pathname === '/docs') location.replace(link.href);
}

async function copy(block, button) {
  try {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = 'Copied';
  } catch {
    // Pages without TLS have no clipboard: the text is selected, to be copied with the keyboard.
    getSelection().selectAllChildren(block);
    button.textContent = 'Selected';
  }
  setTimeout(() => (button.textContent = 'Copy'), 2000);
}

function addCopyButtons() {
  for (const block of document.querySelectorAll('pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(block, button));
    const frame = document.createElement('div');
    frame.className = 'code';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

/** A storage that is turned off throws. */
function stored(write) {
  try {
    if (write !== undefined) localStorage.setItem(storedLanguage, write);
    return localStorage.getItem(storedLanguage);
  } catch {
    return null;
  }
}

function choose(language) {
  for (const input of document.querySelectorAll('.tabs > input')) if (input.value === language) input.checked = true;
}

openOperation();
addEventListener('hashchange', openOperation);
addCopyButtons();
choose(stored());
document.addEventListener('change', ({ target }) => {
  if (!target.matches('.tabs > input')) return;
  stored(target.value);
  choose(target.value);
});
