import type { FieldType } from "@dray/api/codec";
import { type Examples, isTree, type Tree } from "./examples.ts";
import type { Place, Segment } from "./places.ts";

/** How a place is filled. */
export interface Growth {
  readonly count: number;
  /** Number of the first entry: objects with other numbers have other entries. */
  readonly from: number;
  /** All entries are alike. */
  readonly same?: boolean;
}

/** The object with `count` entries at the place; missing parts on the way are added. */
export function grown(base: Tree, place: Place, examples: Examples, growth: Growth): Tree {
  // Parts that entries share become parts of each: one of them may be made long next.
  const copy = JSON.parse(JSON.stringify(base)) as Tree;
  const last = place.path.at(-1)!;
  const parent = descend(copy, place.path.slice(0, -1), examples);
  const key = keyOf(parent, last);
  const present = parent[key];
  if (place.type.form === "list") parent[key] = longList(present, place, examples, growth);
  else if (place.type.form === "map") parent[key] = wideMap(present, place, examples, growth);
  return copy;
}

type Open = Record<string | number, unknown>;

/** The value at the end of the path. */
function descend(root: Tree, path: readonly Segment[], examples: Examples): Open {
  let value = root as Open;
  for (const segment of path) {
    const key = keyOf(value, segment);
    const present = value[key];
    if (typeof present !== "object" || present === null || isEmpty(present))
      value[key] = exampleOf(segment, examples);
    value = value[key] as Open;
  }
  return value;
}

const isEmpty = (value: object): boolean => Array.isArray(value) && value.length === 0;

function keyOf(parent: Open, segment: Segment): string | number {
  if (segment.step === "field") return segment.name;
  if (segment.step === "element") return 0;
  return Object.keys(parent)[0] ?? "example.com/k";
}

function exampleOf(segment: Segment, examples: Examples): unknown {
  const found =
    segment.step === "field" ? examples.valueOf(segment.field) : examples.made(segment.type, "value");
  const { form } = segment.step === "field" ? segment.field.type : segment.type;
  const fits = form === "list" ? Array.isArray(found) && found.length > 0 : isTree(found);
  const copy = fits ? structuredClone(found) : undefined;
  return copy ?? (segment.step === "field" ? examples.made(segment.field.type, segment.name) : {});
}

function longList(present: unknown, place: Place, examples: Examples, growth: Growth): unknown[] {
  const { type, field } = place;
  const element = type.form === "list" ? type.element : type;
  const example = examples.valueOf(field);
  const list = Array.isArray(present) && present.length > 0 ? present : Array.isArray(example) ? example : [];
  const first: unknown = list.at(-1) ?? examples.made(element, field.name);
  const keys =
    field.marks.listMapKeys ?? (field.marks.patchMergeKey ? [field.marks.patchMergeKey] : undefined);
  return Array.from({ length: growth.count }, (_, index) =>
    growth.same ? first : varied(first, element, keys, growth.from + index),
  );
}

function wideMap(present: unknown, { type, field }: Place, examples: Examples, growth: Growth): Tree {
  const example = examples.valueOf(field);
  const map = isTree(present) ? present : isTree(example) ? example : {};
  const value = Object.values(map)[0] ?? (type.form === "map" ? examples.made(type.value, field.name) : "a");
  const key = Object.keys(map)[0] ?? "k";
  return Object.fromEntries(
    Array.from({ length: growth.count }, (_, index) => [`${key}${growth.from + index}`, value]),
  );
}

const identifying =
  /^(?:name|key|uid|mountPath|devicePath|ip|id|device|request|topologyKey|containerPort|port|type)$/;

/** Returns a copy of a list element whose identifying fields differ by `index`. */
function varied(
  element: unknown,
  type: FieldType,
  keys: readonly string[] | undefined,
  index: number,
): unknown {
  if (typeof element === "string") return variedText(element, type, index);
  if (typeof element === "number") return element + index;
  if (!isTree(element) || type.form !== "struct") return element;
  const fields = Object.keys(element);
  const chosen = (keys ?? []).filter((key) => fields.includes(key) && key !== "protocol");
  const named = fields.filter((name) => identifying.test(name)).slice(0, 1);
  const changed = chosen.length > 0 ? chosen : named.length > 0 ? named : fields.slice(0, 1);
  const copy: Record<string, unknown> = { ...element };
  for (const key of changed) {
    const inner = type.struct.fields.get(key)?.type;
    if (inner === undefined) continue;
    const value = copy[key];
    copy[key] =
      inner.form === "list" && Array.isArray(value)
        ? value.map((each) => varied(each, inner.element, undefined, index))
        : inner.form === "map" && isTree(value)
          ? Object.fromEntries(Object.entries(value).map(([name, each]) => [`${name}${index}`, each]))
          : varied(value, inner, undefined, index);
  }
  return copy;
}

function variedText(text: string, type: FieldType, index: number): string {
  const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  if (/^\d+\.\d+\.\d+\.\d+\/\d+$/.test(text)) return `${address}/32`;
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text)) return address;
  if (type.form === "scalar" && type.name === "Quantity") return String(index + 1);
  return `${text}${index}`;
}
