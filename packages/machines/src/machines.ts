/** Starts and stops the machines that browsers run in: jails of namespaces and virtual machines, behind one interface. */
export * from './runtime.ts';
export { browserAgeDays, browserAgeDaysMax, findBrowserPrograms, readBrowser, type BrowserPrograms } from './host/browsers.ts';
export { chooseRuntime, decideRuntime, protectService, requireChromium, type RuntimeDecision } from './choose.ts';
export {
  findImage,
  ImageUnusableError,
  kvmRefusal,
  memoryHere,
  probeCgroups,
  probeIsolation,
  programVersion,
  startBrowsers,
} from './diagnose.ts';
export { createVideoEncoders } from './encoder/encoder.ts';
export { checkKvm } from './qemu/kvm/check.ts';
export { createQemuRuntime, prepareTemplates, templateKinds, type QemuRuntimeOptions } from './qemu/qemu.ts';
