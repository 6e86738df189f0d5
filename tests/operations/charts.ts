/** Renders a Helm chart whose templates use functions of Go's text/template alone, with that engine itself. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse as render } from '@evertdespiegeleer/go-template';
import { parse, parseAllDocuments } from 'yaml';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  spec: Record<string, unknown>;
}

type Values = Record<string, unknown>;

/** Merges values as Helm does: maps are merged, all else is replaced. */
function merged(base: Values, over: Values): Values {
  const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);
  const pairs = Object.entries(over).map(([name, value]): [string, unknown] => {
    const before = base[name];
    return [name, isMap(before) && isMap(value) ? merged(before, value) : value];
  });
  return { ...base, ...Object.fromEntries(pairs) };
}

export const readYaml = (path: string): unknown => parse(readFileSync(path, 'utf8'), { merge: true });

export function valuesOf(chart: string, over: Values = {}): Values {
  return merged(readYaml(join(chart, 'values.yaml')) as Values, over);
}

/** The manifests that `helm template release CHART` prints. A value that a template names and nobody sets is an error. */
export async function renderChart(chart: string, over: Values = {}): Promise<Manifest[]> {
  const { name, version, appVersion } = readYaml(join(chart, 'Chart.yaml')) as Record<string, string>;
  const root = {
    Values: valuesOf(chart, over),
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: 'release', Namespace: 'browsers', Service: 'Helm' },
  };
  const helpers = readFileSync(join(chart, 'templates/_helpers.tpl'), 'utf8');
  const files = readdirSync(join(chart, 'templates')).filter((file) => file.endsWith('.yaml'));
  const manifests: Manifest[] = [];
  for (const file of files) {
    const text = await render(helpers + readFileSync(join(chart, 'templates', file), 'utf8'), root);
    for (const document of parseAllDocuments(text)) {
      const [error] = document.errors;
      if (error) throw new Error(`${file}: ${error.message}\n${text}`);
      const manifest = document.toJS() as Manifest | null;
      if (manifest) manifests.push(manifest);
    }
  }
  return manifests;
}
