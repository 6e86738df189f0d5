/**
 * A mark of a technology. The rules are data of our own: each is what the product
 * itself documents or sends. A `version` group is the version.
 */
export interface TechnologyRule {
  name: string;
  category: string;
  /** Response headers of the site's documents, by their lower-case names. */
  headers?: Readonly<Record<string, RegExp>>;
  /** Names of cookies of the site. */
  cookies?: RegExp;
  /** The `generator` of the page. */
  generator?: RegExp;
  /** Hosts of requests, and what is below them. */
  hosts?: readonly string[];
  /** Paths of scripts and style sheets of any host. */
  files?: RegExp;
  /** Properties of `window`, or data that a framework embeds. */
  globals?: readonly string[];
  /** Names of attributes that the framework writes; with `*`, their beginning. */
  attributes?: readonly string[];
  /** Ids of elements. */
  ids?: readonly string[];
  /** Names of other technologies that this one is made with. */
  implies?: readonly string[];
}
