/** JSON for people and for comparing: whole numbers are whole, whatever holds them. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}
