import { typeRows } from "../../schema/table.ts";
import { type Field, kindOf, StructType, structType } from "../../schema/types.ts";
import { UnknownKindError } from "../decode-error.ts";

/** A struct type as protobuf sees it: its fields by number. */
export interface Message {
  readonly struct: StructType;
  /** In ascending number: the order in which Go writes them. */
  readonly fields: readonly Field[];
  /** The field with that number, at that index. */
  readonly byNumber: readonly (Field | undefined)[];
}

const messages = new Map<StructType, Message>();

/** Made on first use, like the struct type itself. */
export function messageOf(struct: StructType): Message {
  const known = messages.get(struct);
  if (known !== undefined) return known;
  const fields = struct.ownFields
    .filter((field) => field.number > 0)
    .sort((one, other) => one.number - other.number);
  const byNumber: (Field | undefined)[] = [];
  for (const field of fields) byNumber[field.number] = field;
  const made: Message = { struct, fields, byNumber: Array.from(byNumber) };
  messages.set(struct, made);
  return made;
}

/** Registered in every group: clients send them in the version of the resource that they are about. */
const optionKinds = new Set([
  "CreateOptions",
  "DeleteOptions",
  "GetOptions",
  "ListOptions",
  "PatchOptions",
  "UpdateOptions",
]);

/** Registered in `v1`, also in answers about other groups. */
const sharedKinds = new Set(["List", "Status", "APIGroup", "APIGroupList", "APIResourceList", "APIVersions"]);
/** The kinds among them that the core group sends without a version. */
const unversionedKinds = new Set(["APIResourceList", "APIVersions"]);

const lists = new Map<string, StructType>();

/** `PodList`: from the table where it has the list, else made of the item's type. */
function listOf(item: string): StructType {
  const name = `${item}List`;
  if (typeRows.has(name)) return structType(name);
  let list = lists.get(name);
  if (list === undefined) {
    list = new StructType(name, [
      ["metadata", 1, "meta/v1.ListMeta", { optional: true }],
      ["items", 2, `[]${item}`, { omit: "never" }],
    ]);
    lists.set(name, list);
  }
  return list;
}

/** Its fields had other numbers in v1beta1. */
const oldPartialList = new StructType("meta/v1beta1.PartialObjectMetadataList", [
  ["items", 1, "[]meta/v1.PartialObjectMetadata", { omit: "never" }],
  ["metadata", 2, "meta/v1.ListMeta", { optional: true }],
]);

/** The type of the object in an envelope. Throws UnknownKindError for a kind that is not registered. */
export function envelopeType(apiVersion: string, kind: string): StructType {
  const shared = apiVersion === "" ? unversionedKinds : apiVersion === "v1" ? sharedKinds : optionKinds;
  if (optionKinds.has(kind) || shared.has(kind)) {
    return structType(`meta/v1.${kind}`);
  }
  const slash = apiVersion.indexOf("/");
  const sent = slash < 0 ? "" : apiVersion.slice(0, slash);
  // The table calls the group of the shared types by its package.
  const group = sent === "meta.k8s.io" ? "meta" : sent;
  // The shared types of v1beta1 are those of v1.
  const version = group === "meta" ? "v1" : apiVersion.slice(slash + 1);
  if (apiVersion === "meta.k8s.io/v1beta1" && kind === "PartialObjectMetadataList") return oldPartialList;
  const row = kindOf(group, version, kind);
  if (row !== undefined) return structType(row.type);
  const item = kind.endsWith("List") ? kindOf(group, version, kind.slice(0, -"List".length)) : undefined;
  if (item !== undefined) return listOf(item.type);
  throw new UnknownKindError(apiVersion, kind);
}
