/** Every example of the reference of the command line, which is made from its help, pasted into a shell with the packed program. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { textOf } from '../../contract/documents.ts';
import { nightly } from '../../nightly.ts';
import { installRelease } from '../../prepare/packed.ts';
import { Service, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

/** A page on which the examples mean something: its elements have the refs that they name. */
const shopPage = page(
  'Shop',
  `<a href="/second">Lamps</a> <a href="/second">Sign in</a> <button>Add to basket</button> <button draggable="true">Card</button>
   <label>Email <input></label> <button>Tray</button>
   <select aria-label="Delivery"><option value="standard">Standard</option><option value="express">Express delivery</option></select>
   <label><input type="checkbox">Gift</label> <input type="file" aria-label="Photo"> <a href="/second">Basket</a>
   <a href="/file" download>Invoice</a> <form id="checkout"><button type="button">Pay</button></form>
   <div id="list" style="height: 60px; overflow: auto"><p style="height: 3000px">Long</p></div>
   <div id="results">Thank you</div>`,
);

const references = [...readReferences()];

/** What stands before the examples of a command, where they name more than the page of the shop. */
const preludes: Readonly<Record<string, string>> = {
  snapshot: 'berth open -s shop shop.example',
  downloads: 'berth click text/Invoice; soon has_download; DOWNLOAD=$(berth downloads | first download_id)',
  'hand-over': 'berth open shop.example/account',
  end: 'berth open -s checkout shop.example',
  forward: 'berth open -s tests shop.example',
  tunnel: 'berth open -s preview shop.example',
  job: 'submit shop.example',
  cancel: 'submit shop.example/hang',
  keys: 'KEY=$(BERTH_ADMIN_KEY= BERTH_API_KEY=$LOGIN_TOKEN berth keys create --name before | first key_id)',
  workers: 'WORKER=$(berth workers | first worker_id)',
  config: 'berth login --as staging --key-file data/api-key',
  completion: 'mkdir -p ~/.zsh',
};

/** Commands that go on until they are interrupted, and one for which the first second of a video must have been written. */
const endless = /^berth (?:logs -f|forward|tunnel)(?: |$)/;
const early = /^berth record save/;

/** What the lines are pasted into. `feh` and `xdg-open` show what they get to nobody here. */
const shell = `
set -e
export PATH=$PWD/bin:$PATH
first() { jq -re "[.. | .$1? // empty][0]"; }
has_download() { berth downloads | first download_id >/dev/null; }
submit() { JOB=$(berth api POST /v1/fetch --data '{"url":"http://'$1'","async":true}' | first job_id); }
soon() { for n in $(seq 40); do if "$@" 2>/dev/null; then return; fi; sleep 0.5; done; "$@"; }
interrupted() { timeout --preserve-status --signal INT 4 "$@" && code=0 || code=$?; [ $code = 130 ] || [ $code = 0 ] || { echo "exit code $code: $*" >&2; exit 1; }; }
`;

describe('the examples of the command line', nightly, () => {
  let home: string;
  let site: Site;
  let service: Service;
  let program: string;
  let loginToken: string;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'berth-examples-'));
    site = await startSite({
      pages: {
        '/': shopPage,
        '/account': page('Account', 'Yours'),
      },
    });
    const environment = { BERTH_EGRESS_ALLOW: site.host, BERTH_ALLOW_EVALUATE: '1', BERTH_DEV_IDP: '1' };
    [service, program] = await Promise.all([Service.start({ environment }), installRelease('cli', join(home, 'installed'))]);
    const signedIn = await fetch(`${service.url}/dev-idp/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ email: 'ada@example.com', organisation: 'acme' }),
    });
    [loginToken = ''] = /eyJ[\w.-]+/.exec(await signedIn.text()) ?? assert.fail('nobody is signed in');
    const folder = (name: string): string => (mkdirSync(join(home, name), { recursive: true }), join(home, name));
    writeFileSync(join(folder('data'), 'api-key'), `${service.key}\n`);
    for (const name of ['feh', 'xdg-open']) {
      writeFileSync(join(folder('bin'), name), '#!/bin/sh\ncat >/dev/null\n');
      chmodSync(join(home, 'bin', name), 0o755);
    }
    writeFileSync(join(home, 'photo.jpg'), 'a photo');
    writeFileSync(join(home, 'fields.json'), '{"fields":{"name":{"selectors":["h1","#results"]}}}');
    writeFileSync(join(folder('berth'), 'package.json'), '{"name":"berth"}');
    writeFileSync(join(folder('berth/scripts'), 'start.sh'), 'exit 0\n');
  });
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });

  /** Runs lines in the folder of the home, with the sample's addresses and ids replaced by those that exist. */
  async function paste(lines: string): Promise<string> {
    const script = lines
      .replaceAll('https://shop.example/', `${site.url}/`)
      .replaceAll('shop.example', site.host)
      .replaceAll('https://berth.example', service.url)
      .replaceAll('dl_01', '$DOWNLOAD')
      .replaceAll('job_01', '$JOB')
      .replaceAll('key_01', '$KEY')
      .replaceAll('wrk_01', '$WORKER');
    const env = {
      PATH: [join(dirname(dirname(program)), '.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
      HOME: home,
      BERTH_URL: service.url,
      BERTH_API_KEY: service.key,
      BERTH_ADMIN_KEY: service.adminKey,
      LOGIN_TOKEN: loginToken,
    };
    const child = promisify(execFile)('bash', ['-c', shell + script], { cwd: home, env, timeout: 120_000 });
    // A key on standard input is asked for once; a command that reads more finds the end.
    child.child.stdin?.end(`${service.key}\n`);
    return child.then(
      ({ stdout }) => stdout,
      ({ stderr, message }: { stderr: string; message: string }) => assert.fail(`${script}\n${stderr || message}`),
    );
  }

  const runnable = ({ lines }: Reference): string =>
    lines.map((line) => (endless.test(line) ? `interrupted ${line}` : early.test(line) ? `soon ${line}` : line)).join('\n');
  // Draining the only worker leaves none for the others.
  const inOrder = references.toSorted((one, other) => Number(one.name === 'workers') - Number(other.name === 'workers'));
  for (const reference of inOrder)
    it(`the examples of berth ${reference.name} run as they stand there`, async () => {
      const usesPage = !['Work without a session', 'Service', 'Setup'].includes(reference.group);
      // References count on in a session, so those of the examples are those of a new one.
      const start = usesPage ? 'berth end >/dev/null 2>&1 || true; berth batch "open shop.example" snapshot >/dev/null' : '';
      await paste([start, preludes[reference.name] ?? '', runnable(reference)].join('\n'));
    });

  it('the reference has an example of each command', () => {
    const headings = textOf('docs/command-line.md').match(/^#### `berth /gm) ?? [];
    assert.ok(headings.length > 50, String(headings.length));
    assert.equal(references.length, headings.length);
  });
});

interface Reference {
  group: string;
  name: string;
  /** The lines of its examples. */
  lines: string[];
}

/** The commands of the reference with their examples. */
function* readReferences(): Generator<Reference> {
  for (const section of textOf('docs/command-line.md').split(/^### /m).slice(1)) {
    const group = section.slice(0, section.indexOf('\n'));
    for (const [, name = '', block = ''] of section.matchAll(/^#### `berth ([a-z-]+)[^]*?^```sh\n([^]*?)\n```/gm))
      yield { group, name, lines: block.split('\n') };
  }
}
