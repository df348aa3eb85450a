/** The int64 that a text spells in canonical form. */
export function int64Of(text = ""): bigint | undefined {
  if (!isDecimalInteger(text)) return undefined;
  const number = BigInt(text);
  return number >= -(2n ** 63n) && number < 2n ** 63n ? number : undefined;
}

/** Upstream: k8s.io/apimachinery/pkg/api/validate/content/decimal_int.go, IsDecimalInteger */
export function isDecimalInteger(text: string): boolean {
  return /^(0|-?[1-9][0-9]*)$/.test(text);
}
