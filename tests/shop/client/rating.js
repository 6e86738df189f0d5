// <shop-rating value="4.5">: stars in a shadow root in a shadow root, and a slot for what stands beside them.
class Stars extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    const style = document.createElement('style');
    style.textContent =
      'button { border: 0; background: none; padding: 0 1px; font-size: 22px; color: #e36414; cursor: pointer } :host { white-space: nowrap }';
    root.append(style);
    for (let n = 1; n <= 5; n += 1) {
      const star = document.createElement('button');
      star.type = 'button';
      star.setAttribute('aria-label', `Rate ${n} of 5`);
      star.addEventListener('click', () => this.dispatchEvent(new CustomEvent('rate', { detail: n, bubbles: true, composed: true })));
      root.append(star);
    }
    this.show(Number(this.getAttribute('value')));
  }

  show(value) {
    for (const [n, star] of [...this.shadowRoot.querySelectorAll('button')].entries()) star.textContent = n < Math.round(value) ? '★' : '☆';
  }
}

class Rating extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    root.innerHTML =
      '<style>:host { display: flex; gap: 10px; align-items: center }</style><shop-stars></shop-stars><slot></slot><output part="said"></output>';
    const stars = root.querySelector('shop-stars');
    stars.setAttribute('value', this.getAttribute('value'));
    root.addEventListener('rate', ({ detail }) => {
      stars.show(detail);
      root.querySelector('output').textContent = `You rated ${detail}`;
    });
  }
}

customElements.define('shop-rating', Rating);
customElements.define('shop-stars', Stars);
