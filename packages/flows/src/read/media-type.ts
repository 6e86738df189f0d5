/** The media type that a file's name says. What a site says is not trusted, and a download does not keep it. */
const types: Readonly<Record<string, string>> = {
  '7z': 'application/x-7z-compressed',
  aac: 'audio/aac',
  apk: 'application/vnd.android.package-archive',
  avi: 'video/x-msvideo',
  avif: 'image/avif',
  bmp: 'image/bmp',
  bz2: 'application/x-bzip2',
  css: 'text/css',
  csv: 'text/csv',
  deb: 'application/vnd.debian.binary-package',
  dmg: 'application/x-apple-diskimage',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  epub: 'application/epub+zip',
  exe: 'application/vnd.microsoft.portable-executable',
  flac: 'audio/flac',
  gif: 'image/gif',
  gz: 'application/gzip',
  html: 'text/html',
  ico: 'image/vnd.microsoft.icon',
  ics: 'text/calendar',
  iso: 'application/x-iso9660-image',
  jar: 'application/java-archive',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  m4a: 'audio/mp4',
  md: 'text/markdown',
  mkv: 'video/x-matroska',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  msi: 'application/x-msi',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  ogg: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  ps: 'application/postscript',
  rar: 'application/vnd.rar',
  rpm: 'application/x-rpm',
  rtf: 'application/rtf',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  tgz: 'application/gzip',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  torrent: 'application/x-bittorrent',
  txt: 'text/plain',
  vcf: 'text/vcard',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  xz: 'application/x-xz',
  zip: 'application/zip',
  zst: 'application/zstd',
};

export function mediaTypeOf(fileName: string): string {
  return knownTypeOf(fileName) ?? 'application/octet-stream';
}

/** What a browser shows as a document with text of its own. */
const isDocumentType = (type: string): boolean =>
  /^text\/(?:html|plain|markdown|xml)$|[/+](?:xml|json)$/.test(type) && !type.startsWith('image/');

/** Whether the name of a URL's path says that it is a file and no page, such as a PDF or an archive. */
export function isFileUrl({ pathname }: URL): boolean {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1);
  const type = name.includes('.') ? knownTypeOf(name) : undefined;
  return type !== undefined && !isDocumentType(type);
}

/** Whether a response of this type is a file and no page. */
export const isFileType = (type: string): boolean => type !== '' && !isDocumentType(type);

function knownTypeOf(fileName: string): string | undefined {
  const extension = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(types, extension) ? types[extension] : undefined;
}
