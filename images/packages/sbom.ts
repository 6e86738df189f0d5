/** The SBOM of an image in CycloneDX 1.6, for vulnerability scanners. Reproducible. */
import { createHash } from 'node:crypto';
import { fileTimeSeconds } from '../files/erofs.ts';
import type { AgentPackage, ImageManifest, Layers, PackedPackage } from '../layers.ts';
import { leftOutPaths } from './packages.ts';

interface Property {
  name: string;
  value: string;
}

interface Component {
  type: 'library' | 'application' | 'operating-system';
  'bom-ref': string;
  name: string;
  version: string;
  purl?: string;
  licenses?: ({ license: { id: string } } | { expression: string })[];
  externalReferences?: { type: 'website'; url: string }[];
  properties?: Property[];
}

export interface Sbom {
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  serialNumber: string;
  version: 1;
  metadata: { timestamp: string; component: Component; properties: Property[] };
  components: Component[];
}

export function sbomOf(manifest: ImageManifest, { root, boot, agent }: Layers): Sbom {
  const distribution = `debian-${root.suite}`;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(manifest.id)}`,
    version: 1,
    metadata: {
      timestamp: new Date(fileTimeSeconds * 1000).toISOString(),
      component: { type: 'operating-system', 'bom-ref': 'image', name: 'berth-machine-image', version: manifest.id },
      properties: [
        ...leftOutPaths.map(({ why, paths }) => ({ name: 'berth:left-out-paths', value: `${why}: ${paths.join(' ')}` })),
        ...root.leftOut.map((name) => ({ name: 'berth:left-out-package', value: name })),
      ],
    },
    components: [
      ...[...root.packages, ...boot.packages].map((each) => debianComponent(each, distribution)),
      nodeComponent(agent.nodeVersion),
      ...agent.packages.map(agentComponent),
    ],
  };
}

function debianComponent(
  { name, version, architecture, source, sourceVersion, homepage, licence, files }: PackedPackage,
  distribution: string,
): Component {
  const qualifiers = [`arch=${architecture}`, `distro=${distribution}`, ...(source === name ? [] : [`upstream=${source}`])];
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${qualifiers.join('&')}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(homepage === null ? {} : { externalReferences: [{ type: 'website' as const, url: homepage }] }),
    properties: [
      { name: 'berth:architecture', value: architecture },
      { name: 'berth:source', value: `${source} ${sourceVersion}` },
      ...(licence === null ? [] : [{ name: 'berth:licence-file', value: licence }]),
      { name: 'berth:files', value: String(files.packed) },
      ...(files.leftOut === 0 ? [] : [{ name: 'berth:files-left-out', value: String(files.leftOut) }]),
    ],
  };
}

function nodeComponent(version: string): Component {
  const purl = `pkg:generic/node@${version}`;
  return { type: 'application', 'bom-ref': purl, name: 'node', version, purl, licenses: [{ license: { id: 'MIT' } }] };
}

function agentComponent({ name, version, licence, isOurs }: AgentPackage): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return {
    type: isOurs ? 'application' : 'library',
    'bom-ref': purl,
    name,
    version,
    ...(isOurs ? {} : { purl }),
    licenses: [{ expression: licence }],
  };
}

/** A UUID of version 5 without a standard namespace. */
function uuidOf(name: string): string {
  const digest = createHash('sha256').update(`berth image ${name}`).digest('hex');
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
