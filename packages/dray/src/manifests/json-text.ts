/** JSON for people and for comparisons: whole numbers have no fraction, whatever their type. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}
