/** IP addresses and CIDRs as Kubernetes reads them: strict about form, and with one canonical text each. */

function canonicalV4(text: string): string | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]{1,3}$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.map(Number).join(".");
}

function groups(text: string): number[] | undefined {
  if (text === "") return [];
  const result: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const v4 = index === parts.length - 1 && part.includes(".") ? canonicalV4(part) : undefined;
    if (v4 !== undefined) {
      const [a = 0, b = 0, c = 0, d = 0] = v4.split(".").map(Number);
      result.push(a * 256 + b, c * 256 + d);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) result.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return result;
}

function canonicalV6(text: string): string | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [left, right] = [groups(halves[0] ?? ""), groups(halves[1] ?? "")];
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...left, ...Array.from({ length: missing }, () => 0), ...right];
  if (all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff) {
    const [high = 0, low = 0] = all.slice(6);
    return `::ffff:${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  // The longest run of zeros, at least two, becomes `::` (RFC 5952).
  let start = -1;
  let length = 1;
  for (let at = 0; at < 8; at++) {
    let run = 0;
    while (at + run < 8 && all[at + run] === 0) run++;
    if (run > length) [start, length] = [at, run];
    at += run;
  }
  const hex = all.map((group) => group.toString(16));
  if (start < 0) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}

/** The canonical text of an address; undefined for anything else. */
export function canonicalAddress(text: string): string | undefined {
  return text.includes(":") ? canonicalV6(text) : canonicalV4(text);
}

/** The canonical text of an address with a prefix length, `10.9.8.7/24`; undefined for anything else. */
export function canonicalInterfaceAddress(text: string): string | undefined {
  const at = text.lastIndexOf("/");
  if (at < 0) return undefined;
  const address = canonicalAddress(text.slice(0, at));
  const prefix = text.slice(at + 1);
  if (address === undefined || !/^(0|[1-9][0-9]{0,2})$/.test(prefix)) return undefined;
  return Number(prefix) <= (address.includes(":") ? 128 : 32) ? `${address}/${prefix}` : undefined;
}
