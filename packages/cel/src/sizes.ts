/** Between how many characters, bytes or elements a value has. */
export interface Size {
  readonly least: number;
  readonly most: number;
}

/** As good as no bound: sizes end where unsigned 64-bit integers do. */
export const unboundedSize: number = 2 ** 64;

export const exactly = (size: number): Size => ({ least: size, most: size });
export const anySize: Size = { least: 0, most: unboundedSize };
/** Of no value at all: joined with another size it changes nothing. */
export const noSize: Size = { least: unboundedSize, most: 0 };

export const eitherSize = (a: Size, b: Size): Size => ({
  least: Math.min(a.least, b.least),
  most: Math.max(a.most, b.most),
});
const bounded = (size: number): number => Math.min(unboundedSize, size);
const upTo = (most: number): Size => ({ least: 0, most: bounded(most) });

/** The size of a call's result by those of its arguments (a receiver first) and, where one is written out, a limit. */
type SizeRule = (sizes: readonly Size[], limit: number | undefined) => Size;

const asFirst: SizeRule = (sizes) => sizes[0] ?? anySize;
const upToFirst: SizeRule = (sizes) => upTo(sizes[0]?.most ?? unboundedSize);
const sum: SizeRule = (sizes) => ({
  least: bounded(sizes.reduce((total, size) => total + size.least, 0)),
  most: bounded(sizes.reduce((total, size) => total + size.most, 0)),
});

/** Every occurrence of the shortest text there can be becomes the longest one, or the text stays as it is. */
const replaced: SizeRule = ([text = anySize, from = anySize, to = anySize]) => {
  if (from.least === 0) return upTo(text.most + (text.most + 1) * to.most);
  if (to.most <= from.least) return upTo(text.most);
  return upTo(Math.ceil(text.most / from.least) * to.most);
};

/** Every character may need a backslash. An unbounded size runs over upstream and becomes nothing, and so here. */
const quoted: SizeRule = ([text = anySize]) => ({
  least: text.least + 2,
  most: text.most >= unboundedSize ? 0 : text.most * 2 + 2,
});

const forms: readonly (readonly [forms: string, rule: SizeRule])[] = [
  ["add_string add_bytes add_list", sum],
  ["to_dyn string_lower_ascii string_upper_ascii list_reverse list_flatten list_flatten_int", asFirst],
  ["list_distinct string_trim string_substring_int string_substring_int_int", upToFirst],
  ["string_to_bytes", ([text = anySize]) => ({ least: text.least, most: bounded(text.most * 4) })],
  ["bytes_to_string", ([bytes = anySize]) => ({ least: Math.floor(bytes.least / 4), most: bytes.most })],
  ["strings_quote", quoted],
  ["string_replace_string_string string_replace_string_string_int", replaced],
  ["string_split_string", upToFirst],
  ["list_slice", (_, limit) => (limit === undefined ? anySize : upTo(limit))],
  [
    "string_split_string_int",
    (sizes, limit) => (limit === undefined ? upToFirst(sizes, limit) : upTo(limit)),
  ],
  ["lists_range", (_, limit) => (limit === undefined ? anySize : exactly(limit))],
];
const rules: ReadonlyMap<string, SizeRule> = new Map(
  forms.flatMap(([names, rule]) => names.split(" ").map((form) => [form, rule] as const)),
);

/** The rule for the size of the result of a form of a function; undefined: only its type says something. */
export function sizeRule(form: string): SizeRule | undefined {
  return rules.get(form);
}
