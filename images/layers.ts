/**
 * An image has three layers that are built separately: the file system of Debian
 * packages, the boot files, and the agent. A layer's key is a hash of all its
 * inputs, so a layer of an earlier image with the same key is reused.
 */
import { guestProtocol } from '@berth/contract/guest';
import { hashOf } from './files/digest.ts';

export interface StoredFile {
  bytes: number;
  sha256: string;
}

export interface Layer {
  key: string;
  files: Record<string, StoredFile>;
  /** Size of its content before packing. */
  unpackedBytes: number;
}

/** A Debian package in the image. */
export interface PackedPackage {
  name: string;
  version: string;
  architecture: string;
  source: string;
  sourceVersion: string;
  homepage: string | null;
  /** Path of its licence in the image. */
  licence: string | null;
  /** Number of its files in the image, and of those left out. */
  files: { packed: number; leftOut: number };
}

export interface RootLayer extends Layer {
  suite: string;
  packages: PackedPackage[];
  /** Installed packages of which no file remains. */
  leftOut: string[];
  chromiumVersion: string;
}

export interface BootLayer extends Layer {
  packages: PackedPackage[];
  kernelVersion: string;
}

/** A package from npm or from this repository. */
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

/** How to build a layer: `build` writes its files into a folder and returns the rest. */
export interface LayerRecipe<L extends Layer> {
  key: string;
  /** `work` is a temporary folder. */
  build(options: { into: string; work: string }): Promise<Omit<L, 'key'>>;
}

/** Content of `image.json`. */
export interface ImageManifest {
  id: string;
  protocol: number;
  /** Debian's name. */
  architecture: string;
  created_at: string;
  kernel_version: string;
  chromium_version: string;
  node_version: string;
  /** Number of Debian packages. */
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
    id: hashOf(Object.values(sha256)),
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
  const entries = names.map((name) => {
    const file = layer.files[name];
    if (!file) throw new Error(`a layer without its file ${name}`);
    return [name, file];
  });
  return Object.fromEntries(entries) as Record<Name, StoredFile>;
}
