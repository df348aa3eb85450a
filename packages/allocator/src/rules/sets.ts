/** Methods of Set that Node 20 and some browsers lack. The order of a result is that of the method. */

export function isDisjoint<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  const [smaller, larger] = a.size <= b.size ? [a, b] : [b, a];
  for (const element of smaller) if (larger.has(element)) return false;
  return true;
}

export function intersection<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> {
  const [smaller, larger] = a.size <= b.size ? [a, b] : [b, a];
  const common = new Set<T>();
  for (const element of smaller) if (larger.has(element)) common.add(element);
  return common;
}

export function areEqual<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  if (a.size !== b.size) return false;
  for (const element of a) if (!b.has(element)) return false;
  return true;
}
