/** A value of which only some fields are there, at any depth. */
export type DeepPartial<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepPartial<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]?: DeepPartial<T[Field]> | undefined }
      : T;

/**
 * An object with only the fields that the tested code reads: `partial<Pod>({ metadata: { name: "p" } })`. The
 * compiler checks their names and types. The others are missing, whatever the type says.
 */
export function partial<T>(fields: DeepPartial<T>): T {
  return fields as T;
}
