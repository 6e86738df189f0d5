/** A page that needs no site. Its title shows what was done with it. */
const html = `<!doctype html><title>Example</title><h1>Example</h1>
<input id="name" aria-label="Name">
<button id="greet" onclick="document.title = 'Hello ' + document.getElementById('name').value">Greet</button>
<input id="file" type="file" aria-label="File" onchange="document.title = files[0].name + ', ' + files[0].size + ' bytes'">
<a id="download" download="report.csv" href="data:text/csv,a,b">Download</a>`;

export const pageUrl = `data:text/html,${encodeURIComponent(html)}`;
