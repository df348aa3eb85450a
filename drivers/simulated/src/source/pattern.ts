/** Reports whether a name matches a pattern, in which `*` stands for any text. */
export function namePattern(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const expression = new RegExp(`^${parts.join(".*")}$`, "s");
  return (name) => expression.test(name);
}
