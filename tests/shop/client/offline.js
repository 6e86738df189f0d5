const state = document.getElementById('worker');
navigator.serviceWorker
  .register('/sw.js', { scope: '/offline/' })
  .then(async (registration) => {
    const worker = registration.installing ?? registration.waiting ?? registration.active;
    const tell = () => worker.state === 'activated' && (state.textContent = 'Ready');
    worker.addEventListener('statechange', tell);
    tell();
  })
  .catch((error) => (state.textContent = `No worker: ${error.message}`));
