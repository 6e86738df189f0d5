/**
 * An image has three layers, each built and kept by itself: the file system of
 * Debian's packages, what a machine boots with, and the agent. A layer is known
 * by a key of all that it is made from, so the layer of an earlier image with
 * the same key is as good as a new one.
 */
import { guestProtocol } from '@berth/contract/guest';
import { keyOf } from './digest.ts';

export interface StoredFile {
  bytes: number;
  sha256: string;
}

export interface Layer {
  key: string;
  files: Record<string, StoredFile>;
  /** Of what it holds, before it was packed. */
  unpackedBytes: number;
}

/** A package of Debian, as it lies in the image. */
export interface PackedPackage {
  name: string;
  version: string;
  architecture: string;
  source: string;
  sourceVersion: string;
  homepage: string | null;
  /** Path of its licence in the image. */
  licence: string | null;
  /** How many of its files are there, and how many were left out. */
  files: { packed: number; leftOut: number };
}

export interface RootLayer extends Layer {
  suite: string;
  packages: PackedPackage[];
  /** Packages that are installed and of which nothing stays. */
  leftOut: string[];
  chromiumVersion: string;
}

export interface BootLayer extends Layer {
  packages: PackedPackage[];
  kernelVersion: string;
}

/** A package of npm, or one of this repository. */
export interface AgentPackage {
  name: string;
  version: string;
  licence: string;
  isOurs: boolean;
}

export interface AgentLayer extends Layer {
  packages: AgentPackage[];
  nodeVersion: string;
}

export interface Layers {
  root: RootLayer;
  boot: BootLayer;
  agent: AgentLayer;
}

/** How a layer comes to be: `build` writes its files into a folder and tells the rest. */
export interface LayerRecipe<L extends Layer> {
  key: string;
  /** `work` is there for the time of the build. */
  build(place: { into: string; work: string }): Promise<Omit<L, 'key'>>;
}

/** What an image tells of itself: `image.json`. */
export interface ImageManifest {
  id: string;
  protocol: number;
  /** As Debian calls it. */
  architecture: string;
  created_at: string;
  kernel_version: string;
  chromium_version: string;
  node_version: string;
  /** Packages of Debian in it. */
  packages: number;
  bytes: { unpacked: number; root: number; agent: number; initramfs: number; kernel: number };
  sha256: { kernel: string; initramfs: string; root: string; agent: string };
}

export function manifestOf(
  { root, boot, agent }: Layers,
  { architecture, createdAt }: { architecture: string; createdAt: Date },
): ImageManifest {
  const { kernel, initramfs } = files(boot, 'kernel', 'initramfs');
  const { 'root.erofs': rootFile } = files(root, 'root.erofs');
  const { 'agent.erofs': agentFile } = files(agent, 'agent.erofs');
  const sha256 = { kernel: kernel.sha256, initramfs: initramfs.sha256, root: rootFile.sha256, agent: agentFile.sha256 };
  return {
    id: keyOf(Object.values(sha256)),
    protocol: guestProtocol,
    architecture,
    created_at: createdAt.toISOString(),
    kernel_version: boot.kernelVersion,
    chromium_version: root.chromiumVersion,
    node_version: agent.nodeVersion,
    packages: root.packages.length + boot.packages.length,
    bytes: {
      unpacked: root.unpackedBytes + boot.unpackedBytes + agent.unpackedBytes,
      root: rootFile.bytes,
      agent: agentFile.bytes,
      initramfs: initramfs.bytes,
      kernel: kernel.bytes,
    },
    sha256,
  };
}

function files<Name extends string>(layer: Layer, ...names: Name[]): Record<Name, StoredFile> {
  const found = names.map((name) => {
    const file = layer.files[name];
    if (!file) throw new Error(`a layer without its file ${name}`);
    return [name, file];
  });
  return Object.fromEntries(found) as Record<Name, StoredFile>;
}
