/** The regions of this service, each with the operator's proxies. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ProxyServer, type Region, type ValidationIssue } from '@berth/contract';

const Country = z.string().regex(/^[A-Z]{2}$/, { error: 'Expected two capital letters (ISO 3166-1 alpha-2)' });

const ProxyEntry = z.strictObject({
  server: ProxyServer,
  username: z.string().min(1).max(256).nullable().default(null),
  password: z.string().max(1024).nullable().default(null),
  ip: z.union([z.ipv4(), z.ipv6()], { error: 'Expected an IP address' }).nullable().default(null),
  country: Country.nullable().default(null),
});

const Entry = z.strictObject({
  code: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, { error: 'Expected lower-case letters, digits and inner hyphens, 64 at most' }),
  name: z.string().min(1).max(100),
  country: Country.nullable().default(null),
  proxies: z
    .strictObject({ managed: z.array(ProxyEntry).default([]), rotating: z.array(ProxyEntry).default([]) })
    .default({ managed: [], rotating: [] }),
});

const RegionsFile = z.strictObject({
  version: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[\x21-\x7e]+$/)
    .optional(),
  regions: z.array(Entry).min(1).max(200),
});

/** A proxy of the operator. Holds a password: for `egress/` only. */
export type RegionProxy = z.infer<typeof ProxyEntry>;
export interface RegionEntry extends z.infer<typeof Entry> {
  /** Whether this worker is in the region, so that traffic may leave from it directly. */
  isOwn: boolean;
}

export interface Regions {
  /** The file's own, else a digest of it, else `builtin`. */
  readonly version: string;
  readonly default: RegionEntry;
  /** Regions as callers see them: no addresses of proxies. */
  list(): Region[];
  /** Returns the default for undefined, null for an unknown code. */
  resolve(code: string | undefined): RegionEntry | null;
}

/** The message names the file, the path in it and what is wrong, and repeats no value. */
export class RegionsFileError extends Error {}

/**
 * Reads the regions once, at start. Without a file there is one region,
 * `defaultCode`.
 * @throws RegionsFileError
 */
export function loadRegions({ file, defaultCode }: { file: string | null; defaultCode: string }): Regions {
  if (file === null) return createRegions('builtin', [builtinRegion(defaultCode)]);
  const text = readText(file);
  const parsed = RegionsFile.safeParse(parseJson(file, text));
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
    throw new RegionsFileError(`The regions file ${file} is not valid: ${issues.join('; ')}`);
  }
  const { regions, version } = parsed.data;
  const duplicate = regions.find((region, index) => regions.findIndex((other) => other.code === region.code) !== index);
  if (duplicate) throw new RegionsFileError(`The regions file ${file} is not valid: regions: the code ${duplicate.code} is used twice`);
  if (!regions.some((region) => region.code === defaultCode))
    throw new RegionsFileError(
      `The regions file ${file} has no region ${defaultCode}, which BERTH_REGION names; ` +
        `it has ${regions.map((region) => region.code).join(', ')}`,
    );
  const entries = regions.map((region) => ({ ...region, isOwn: region.code === defaultCode }));
  return createRegions(version ?? createHash('sha256').update(text).digest('hex').slice(0, 16), entries);
}

/** What is wrong with the `region` of a request that `resolve` does not know. */
export function unknownRegionIssue(regions: Regions, region: string | undefined): ValidationIssue {
  const expected = regions
    .list()
    .map(({ code }) => `'${code}'`)
    .join(', ');
  return { loc: ['body', 'region'], msg: `Input should be ${expected}`, type: 'literal_error', input: region ?? null, ctx: { expected } };
}

const builtinRegion = (code: string): RegionEntry => ({
  code,
  name: code,
  country: null,
  proxies: { managed: [], rotating: [] },
  isOwn: true,
});

function createRegions(version: string, regions: readonly RegionEntry[]): Regions {
  const byCode = new Map(regions.map((region) => [region.code, region]));
  const own = regions.find(({ isOwn }) => isOwn);
  if (!own) throw new Error('no region of this worker');
  const list = regions.map(toRegion);
  return { version, default: own, list: () => list, resolve: (code) => (code === undefined ? own : (byCode.get(code) ?? null)) };
}

function toRegion({ code, name, country, proxies, isOwn }: RegionEntry): Region {
  const countries = [...proxies.managed, ...proxies.rotating].flatMap((proxy) => proxy.country ?? []);
  const egress = {
    direct: isOwn,
    managed: proxies.managed.length > 0,
    rotating: proxies.rotating.length > 0,
    countries: [...new Set(countries)].toSorted(),
  };
  return { code, name, country, default: isOwn, egress };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new RegionsFileError(`The regions file ${file} cannot be read`, { cause });
  }
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the error, which may be a password.
    throw new RegionsFileError(`The regions file ${file} is not valid JSON`);
  }
}
