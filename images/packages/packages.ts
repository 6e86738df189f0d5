/**
 * Debian packages of a machine, and what is left out of them.
 *
 * Packages are installed with all dependencies, as their scripts rely on them;
 * files that no browser uses are removed.
 */

/** Packages to install, in addition to essential ones and dependencies. */
export const wanted = [
  // The browser and fonts for all scripts.
  'chromium',
  'fonts-dejavu-core',
  'fonts-liberation',
  'fonts-noto-cjk',
  'fonts-noto-color-emoji',
  'fonts-noto-ui-core',
  'ca-certificates',
  // Windows: a display that speaks RFB, its keyboard, its window manager.
  'tigervnc-standalone-server',
  'x11-xkb-utils',
  'xkb-data',
  'openbox',
  // The first process, the network cable, and what the agent starts others with.
  'tini',
  'iproute2',
  'perl-base',
  'util-linux',
  // In place of the package that merges /bin into /usr, which takes all of Perl along.
  'usr-is-merged',
];

/** The initramfs is made of it. */
export const busyboxPackage = 'busybox-static';

/** A metapackage of the kernel for virtual machines, which has few drivers. */
export const kernelPackage = 'linux-image-cloud-amd64';

/** Modules to load, in addition to their dependencies. */
export const kernelModules = ['virtio_pci', 'virtio_blk', 'virtio_console', 'erofs', 'veth'];

/** Files that are not even unpacked. A star matches slashes too. */
export const leftOutPaths: { why: string; paths: string[]; but?: string[] }[] = [
  {
    why: 'documentation, but for the licences',
    paths: ['doc', 'man', 'info', 'lintian', 'bug', 'doc-base'].map((name) => `/usr/share/${name}/*`),
    but: ['/usr/share/doc/*/copyright'],
  },
  { why: 'translations of programs other than the browser', paths: ['/usr/share/locale/*'] },
  {
    why: 'for people at a shell and for those who build software',
    paths: ['bash-completion', 'zsh', 'aclocal', 'pkgconfig', 'gdb', 'gcc', 'metainfo', 'menu'].map((name) => `/usr/share/${name}/*`),
  },
  {
    why: 'what looks for faults in graphics',
    paths: ['libVkLayer_*', 'libVkICD_mock*', '*.TOC'].map((name) => `/usr/lib/chromium/${name}`),
  },
  {
    why: 'icons other than the small ones of dialogs',
    paths: ['64x64', '96x96', '256x256', '512x512', 'scalable', 'scalable-up-to-32'].map((name) => `/usr/share/icons/Adwaita/${name}/*`),
  },
  {
    why: 'fonts for printers',
    paths: ['type1', 'opentype/urw-base35', 'X11', 'cMap', 'cmap'].map((name) => `/usr/share/fonts/${name}*`),
  },
  { why: 'parts of programs that need what is not there', paths: ['krb5/plugins', 'tc'].map((name) => `/usr/lib/*-linux-gnu/${name}/*`) },
  {
    why: 'pictures in which no window comes with its icon',
    paths: ['heif', 'jxl', 'j2k', 'ps', 'svg', 'tiff'].map((name) => `/usr/lib/*/imlib2/loaders/${name}.so`),
  },
];

/**
 * Packages that others depend on, or whose scripts run while those are
 * installed, and that nothing in a machine ever runs: taken out as a whole when
 * all is installed. A star stands for a version or a flavour.
 */
export const leftOutPackages: { why: string; packages: string[] }[] = [
  {
    why: 'drivers of graphics cards: pages are drawn by the processor, and the display runs without GLX',
    packages: [
      'libgl1-mesa-dri',
      'mesa-libgallium',
      'libglx-mesa0',
      'libllvm*',
      'libz3-4',
      'libdrm-*[0-9]',
      'libpciaccess0',
      'libsensors*',
      'libedit2',
    ],
  },
  {
    why: 'PostScript, in which a window could come with its icon',
    packages: [
      'libgs[0-9]*',
      'libgs-common',
      'libspectre1',
      'libijs-*',
      'libjbig2dec0',
      'libpaper1',
      'libidn12',
      'poppler-data',
      'fonts-urw-base35',
    ],
  },
  {
    why: 'further kinds of pictures for icons',
    packages: ['libheif*', 'libx265-*', 'libde265-0', 'libaom3', 'libjxl*', 'libhwy*', 'libnuma1'],
  },
  {
    why: 'Python, and of Perl all but its base',
    packages: ['python3*', 'libpython3*', 'perl', 'perl-modules-*', 'libperl5*', 'libgdbm*', 'lib*-perl'],
  },
  {
    why: 'services and a message bus: a machine runs the agent and the browser',
    packages: [
      ...[
        'systemd*',
        'libsystemd-shared',
        'libpam-systemd',
        'init-system-helpers',
        'sysvinit-utils',
        'dmsetup',
        'libdevmapper*',
        'libcryptsetup*',
      ],
      ...['libargon2*', 'libip4tc*', 'libjson-c*', 'libkmod2', 'dbus', 'dbus-*', 'dconf-service'],
    ],
  },
  {
    why: 'the tools that install packages',
    packages: ['dpkg', 'debconf', 'libdebconfclient0', 'ucf', 'sensible-utils', 'usr-is-merged', 'base-passwd', 'openssl'],
  },
  { why: 'signing in and changing users: nobody does', packages: ['login', 'passwd', 'adduser', 'libsemanage*', 'libsepol*'] },
];

/** Whether a name matches one of the patterns. */
export const matches = (patterns: string[], name: string): boolean =>
  patterns.some((pattern) => new RegExp(`^${pattern.replaceAll(/[.+]/g, '\\$&').replaceAll('*', '.*')}$`).test(name));
