/** A `Time` of the API: RFC 3339 in UTC with whole seconds. */
export function timeText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** A `MicroTime` of the API: RFC 3339 in UTC with microseconds. */
export function microTimeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
