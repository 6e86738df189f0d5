import { hostileBodies, hostileTypes } from '../../../tests/hostile-text/bodies.ts';
import { hostilePages } from '../../../tests/hostile-text/pages.ts';
import { hostileRobots } from '../../../tests/hostile-text/robots.ts';
import { bytes, html, startSite, type Site } from '../../../tests/fetch-site.ts';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import type { Section } from '../../figures.ts';

const roundsDefault = 3;

interface Load {
  name: string;
  /** Fetches of one round. */
  urls: string[];
  respectsRobots?: boolean;
}

function serveCorpus(site: Site): Load[] {
  const serve = <T>(folder: string, texts: readonly T[], answer: (text: T) => Parameters<Site['on']>[1]): string[] =>
    texts.map((text, i) => {
      site.on(`/${folder}-${i}`, answer(text));
      return `${site.url}/${folder}-${i}`;
    });
  const texts = Object.values(hostileRobots.texts);
  let requests = 0;
  // Another file at each request; each host is one origin.
  site.on('/robots.txt', (response, request) => bytes(texts[requests++ % texts.length] ?? '', 'text/plain')(response, request));
  return [
    { name: 'plain page', urls: serve('plain', Array<string>(20).fill('<title>A page</title><p>Words.'), (text) => html(text)) },
    { name: 'pages', urls: serve('page', Object.values(hostilePages), (text) => html(text)) },
    { name: 'bodies', urls: serve('body', Object.values(hostileBodies), ({ body, contentType }) => bytes(body, contentType)) },
    { name: 'types', urls: serve('type', hostileTypes, (type) => bytes('a', type, { 'content-disposition': type })) },
    {
      name: 'robots.txt',
      urls: texts.map((_, i) => `${site.url.replace('127.0.0.1', `127.0.0.${i + 2}`)}${hostileRobots.paths[0]}`),
      respectsRobots: true,
    },
  ];
}

interface Lag {
  p99Ms: number;
  maxMs: number;
}

/** Time between two samples of prom-client, which counts it as delay. */
const samplingMs = 10;

/** Reads the delay of the worker's event loop since the last call. */
async function readLag(berth: Berth): Promise<Lag> {
  const response = await fetch(`${berth.url}/metrics`, { headers: { 'x-admin-key': berth.adminKey } });
  const text = await response.text();
  const msOf = (name: string): number =>
    1000 *
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      ) -
    samplingMs;
  return { p99Ms: msOf('nodejs_eventloop_lag_p99_seconds'), maxMs: msOf('nodejs_eventloop_lag_max_seconds') };
}

/** The delay of the worker's event loop while sites send the hostile corpus of the tests to plain fetches. */
export async function hostileText(bench: Bench): Promise<Section> {
  const rows: (string | number)[][] = [];
  const lags = new Map<string, Lag>();
  if (bench.withBerth) {
    const site = await startSite('0.0.0.0');
    bench.stage.onEnd(() => site.close());
    const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: '127.0.0.0/24' });
    for (const { name, urls, respectsRobots = false } of serveCorpus(site)) {
      bench.reportProgress(name);
      await readLag(berth);
      const startMs = performance.now();
      for (let round = 0; round < (bench.runs ?? roundsDefault); round += 1)
        for (const url of urls) await berth.fetch({ url, mode: 'http', formats: ['metadata'], respect_robots: respectsRobots });
      const lag = await readLag(berth);
      lags.set(name, lag);
      rows.push([name, urls.length * (bench.runs ?? roundsDefault), (performance.now() - startMs) / 1000, lag.p99Ms, lag.maxMs]);
    }
    await berth.stop();
  }
  return {
    name: 'hostile-text: delay of the event loop',
    columns: ['what a site sends', 'fetches', 's', 'p99 ms', 'most ms'],
    rows,
    checks: [...lags].flatMap(([name, { p99Ms, maxMs }]) => [
      { what: `${name}: p99 of the delay`, measured: p99Ms, target: 50, rule: 'at most' as const, unit: 'ms' as const },
      { what: `${name}: the longest delay`, measured: maxMs, target: 200, rule: 'at most' as const, unit: 'ms' as const },
    ]),
    notes: ['the delay includes what the host takes from the worker'],
  };
}
