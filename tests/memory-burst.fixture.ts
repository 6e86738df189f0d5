/**
 * Preloaded into the service's process in its place: a burst of large buffers
 * between small ones that stay, and what is left of it when it is over.
 */
const mebibyte = 2 ** 20;
const collect = globalThis.gc ?? ((): never => assertExposed());
const rssMb = (): number => process.memoryUsage.rss() / mebibyte;

function assertExposed(): never {
  throw new Error('needs --expose-gc');
}

const before = rssMb();
// Freed, these would raise glibc's threshold, below which buffers lie between others and cannot be given back.
for (let i = 0; i < 8; i += 1) Buffer.alloc(16 * mebibyte, 1);
collect();
const large: Buffer[] = [];
const small: Buffer[] = [];
for (let i = 0; i < 300; i += 1) {
  large.push(Buffer.alloc(mebibyte, 1));
  small.push(Buffer.allocUnsafeSlow(20_000).fill(1));
}
const most = rssMb();
large.length = 0;
collect();
// Buffers are freed in the background, and what was not is collected again. What is held never goes, however long one waits.
for (let tries = 0; tries < 400 && rssMb() > before + 50; tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  collect();
}
console.log(JSON.stringify({ before, most, after: rssMb(), small: small.length }));
process.exit();
