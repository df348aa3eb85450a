/** Returns the common name of a certificate: the last of several, as in Go, and "" for a missing one. */
export function commonNameOf(names: string | readonly string[] | undefined): string {
  return (typeof names === "string" ? names : names?.at(-1)) ?? "";
}
