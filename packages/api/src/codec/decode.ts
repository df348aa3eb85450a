import { TextNotes } from "../json/text-notes.ts";
import { type StructType, structType } from "../schema/types.ts";
import { DecodeError } from "./decode-error.ts";
import { Provenance } from "./provenance.ts";
import { Findings } from "./tree/findings.ts";
import { problemText, wrongText } from "./tree/messages.ts";
import { structReader } from "./tree/reader.ts";

export { DecodeError, UnknownKindError } from "./decode-error.ts";

export interface Decoded {
  /** In the form in which the API server writes it. */
  readonly object: Record<string, unknown>;
  /** Details of the tree that the object does not show. */
  readonly provenance: Provenance;
  /** `unknown field "spec.foo"`, `duplicate field "spec.foo"`: errors under strict validation. */
  readonly problems: readonly string[];
}

export interface DecodeOptions {
  /**
   * Empty lists and maps that are always written become null, as in an object that was stored and read again.
   */
  readonly stored?: boolean;
  /**
   * An object read before as the same type: what the tree shares with it, in the same place, is copied
   * unread.
   */
  readonly known?: object | undefined;
  /** The caller gives the tree away: parts of it that need no change may become parts of the object. */
  readonly owned?: boolean;
  /** Notes of the text that the tree was parsed from. */
  readonly notes?: TextNotes | undefined;
}

/**
 * Reads an untyped tree as a struct type of the schema: checks the types of values, reports unknown and
 * duplicate fields, and brings quantities, times and omitted fields into the form that the API server
 * writes. `version` is the release whose fields are known, all if absent. Throws DecodeError.
 */
export function decodeAs(
  tree: unknown,
  type: string | StructType,
  version?: string,
  { stored = false, known, owned = false, notes = new TextNotes() }: DecodeOptions = {},
): Decoded {
  const struct = typeof type === "string" ? structType(type) : type;
  const provenance = new Provenance();
  const findings = new Findings({ stored, owned, notes, provenance });
  try {
    const object = structReader(struct, version).readWhole(tree ?? {}, findings, known);
    const fault = findings.stop ?? findings.wrong;
    if (fault !== undefined) throw new DecodeError(wrongText(struct, fault));
    const problems = findings.problems.map(problemText);
    return { object: object as Record<string, unknown>, provenance, problems };
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("exceeded max depth");
    throw error;
  }
}
