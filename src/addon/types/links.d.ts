// Links between objects.

/** Kinds of relations: references to the latest or to a pinned version, tool calls of a chat, links, tags, aliases. */
export type RelationKind = "dynamic" | "static" | "call" | "wikilink" | "markdown" | "external" | "tag" | "alias";

/**
 * Whether a relation's target was found. `missing`: the store has no such object or version. `mismatch`: the version has another hash
 * than the pinned one. `no_part`: the object lacks the heading, block or lines. `unresolved`: the store has no file in the vault that
 * the link fits, and no object that it names. `ambiguous`: it names several. `none`: the relation leads to no object.
 */
export type TargetState =
  | "found"
  | "missing"
  | "forgotten"
  | "mismatch"
  | "no_part"
  | "unresolved"
  | "ambiguous"
  | "none";

/** The objects that were reached. */
export interface Expanded {
  /** Nearest first. Each version occurs once for each of its parts that relations name. */
  nodes: Array<ExpandedNode>;
  /** Whether more nodes than `limit` were reached. */
  more: boolean;
}

/** An object that was reached, or a target that is not an object. */
export interface ExpandedNode {
  /** Distance from its root, in relations. */
  depth: number;
  /** Index in `nodes` of the nearest listed node on the way to it; missing for roots. */
  parent?: number;
  /** ID of the object whose relation led here; missing for roots. */
  viaFrom?: string;
  /** The kind of that relation. */
  viaKind?: RelationKind;
  /** Where that relation is. */
  viaPlace?: LinkPlace;
  /** The text of that relation. */
  viaWritten?: string;
  /** Whether the target was found. */
  state: TargetState;
  /** ID of the object; missing if a link is unresolved. */
  id?: string;
  /** Transaction of its version. */
  txId?: number;
  /** Hash of that version. */
  contentHash?: string;
  /** The headings, block (`^id`) or lines (`1-9`) that the relation names; missing for the whole object. */
  part?: string;
  /** Its metadata: `id`, `type` and the fields of its view. */
  metadata: Record<string, unknown>;
  /** The content, if `content` was set and the object has one. */
  content?: string;
  /** Values by path, for the paths in `values` that exist; a list for a path with `[*]`. */
  values: Record<string, unknown>;
  /** Characters left out because of the budget. */
  leftOutChars?: number;
}

/** A file that a link may lead to. */
export interface LinkCandidate {
  /** ID of the object. */
  id: string;
  /** Absolute path of the file. */
  path: string;
}

/** Where a relation is in its object. */
export interface LinkPlace {
  /** `content`, `front_matter`, `items`, or the name of a field. */
  field: string;
  /**
   * In the content, the headings above it, joined by `#`. In the front matter, the keys that lead to it. Else its path in the
   * payload, such as `file_refs[0]` or `items[12].content`.
   */
  path: string;
  /** Line of the text, from 1; only in content and front matter. */
  line?: number;
}

/** What a relation leads to. */
export interface LinkTarget {
  /** Whether the target was found; `none` for URLs, tags and aliases, which lead to no object. */
  state: TargetState;
  /** ID of the object, if there is one. */
  id?: string;
  /** Transaction of its version: the pinned version, else the one that was visible at the time. */
  txId?: number;
  /** Absolute path, if the target is a file. */
  path?: string;
  /**
   * Of a link that several files fit, the others, best first. Of an ambiguous one, the objects that it names. Of an unresolved link,
   * files that have its target as an alias.
   */
  candidates: Array<LinkCandidate>;
}

/** A relation of an object: a reference, link, tag or alias. */
export interface ObjectLink {
  /** ID of the object that has the relation. */
  from: string;
  /** Transaction of that object's version. */
  version: number;
  /** First transaction with this relation. */
  since: number;
  /** Kind of the relation. */
  kind: RelationKind;
  /** The target as written: the ID of an object or a call, a link's target without headings and block, a URL, a tag without `#`. */
  written: string;
  /** Headings or block (`^id`) of a link, or lines of a reference (`1-9`); missing if it leads to the whole text. */
  part?: string;
  /** Whether the link shows its target in place: `![[note]]` or an image. */
  embed: boolean;
  /** The text that a link shows instead of its target. */
  alias?: string;
  /** Hash of the version that a static reference pins. */
  contentHash?: string;
  /** Where the relation is. */
  place: LinkPlace;
  /** What it leads to. */
  target: LinkTarget;
}

/** What an object refers to, and what refers to it. */
export interface ObjectRelations {
  /** As by `links`. */
  links: Array<ObjectLink>;
  /** As by `backlinks`. */
  backlinks: Array<ObjectLink>;
}
