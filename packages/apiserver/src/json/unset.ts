/** The value of a field that is written as null while it is unset. */
export function unset<T>(): T {
  // The types of the API leave null out.
  return null as unknown as T;
}
