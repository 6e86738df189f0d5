/** What a host lacks, in the words of its distribution. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

const script = join(import.meta.dirname, '../scripts/host-packages.sh');

describe('the packages that a host lacks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-host-packages-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The command for a host that has nothing of what is looked for. */
  function commandFor(release: string): string {
    const file = join(folder, 'os-release');
    writeFileSync(file, release);
    const nothing = `. ${script}; list_jail_packages() { echo bubblewrap; }; list_browser_packages() { printf '%s\\n' chromium chromium-headless-shell iproute2; }; id() { echo 1000; }; print_install_command`;
    return execFileSync('sh', ['-euc', nothing, 'sh'], { encoding: 'utf8', env: { PATH: process.env['PATH'], OS_RELEASE: file } }).trim();
  }

  it('the packages that a host lacks are installed by one command of its distribution', () => {
    const apt = 'sudo apt-get update && sudo apt-get install -y --no-install-recommends bubblewrap';
    assert.equal(commandFor('ID=debian\nVERSION_ID="13"\n'), `${apt} chromium chromium-headless-shell iproute2`);
    assert.equal(commandFor('ID=linuxmint\nID_LIKE="ubuntu debian"\n'), `${apt} iproute2`, 'its chromium is a stub of snap');
    assert.equal(
      commandFor('ID=rocky\nID_LIKE="rhel centos fedora"\n'),
      'sudo dnf install -y --setopt=install_weak_deps=False bubblewrap chromium chromium-headless iproute',
    );
    assert.equal(commandFor('ID=arch\n'), '', 'an unknown one has none');
  });

  it('a host can run the service where it has glibc', () => {
    assert.equal(execFileSync('sh', [script, 'refusal'], { encoding: 'utf8' }), '');
  });
});
