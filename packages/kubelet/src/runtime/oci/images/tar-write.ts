import type { TarEntry } from "./tar.ts";

/** Header of an entry; the content follows, padded by `tarPadding`. */
export type TarHeader = Pick<TarEntry, "name" | "type"> &
  Partial<Pick<TarEntry, "mode" | "uid" | "gid" | "size" | "mtime" | "linkName" | "major" | "minor">> & {
    readonly xattrs?: ReadonlyMap<string, Buffer>;
  };

const flags: Readonly<Record<TarEntry["type"], string>> = {
  file: "0",
  link: "1",
  symlink: "2",
  character: "3",
  block: "4",
  directory: "5",
  fifo: "6",
};

/** Blocks of a pax archive before an entry's content. Names are latin1 text, as in TarEntry. */
export function tarHeader(header: TarHeader): Buffer {
  const records: Buffer[] = [];
  if (header.name.length > 100) records.push(record("path", Buffer.from(header.name, "latin1")));
  if ((header.linkName ?? "").length > 100)
    records.push(record("linkpath", Buffer.from(header.linkName ?? "", "latin1")));
  for (const [name, value] of header.xattrs ?? []) records.push(record(`SCHILY.xattr.${name}`, value));
  const pax = Buffer.concat(records);
  const main = block(header, flags[header.type], header.size ?? 0);
  if (pax.length === 0) return main;
  const before = block({ name: "pax", type: "file" }, "x", pax.length);
  return Buffer.concat([before, pax, tarPadding(pax.length), main]);
}

/** Zeros between the end of a content and the next block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((512 - (size % 512)) % 512);
}

/** End of an archive. */
export const tarEnd = Buffer.alloc(1024);

/** The length of a record includes its own digits. */
function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function block(header: TarHeader, flag: string, size: number): Buffer {
  const buffer = Buffer.alloc(512);
  const octal = (value: number, at: number, digits: number): void => {
    buffer.write(value.toString(8).padStart(digits, "0").slice(-digits), at, "latin1");
  };
  buffer.write(header.name.slice(0, 100), 0, "latin1");
  octal(header.mode ?? (header.type === "directory" ? 0o755 : 0o644), 100, 7);
  octal(header.uid ?? 0, 108, 7);
  octal(header.gid ?? 0, 116, 7);
  octal(size, 124, 11);
  octal(Math.floor(header.mtime ?? 0), 136, 11);
  buffer.write(flag, 156, "latin1");
  buffer.write((header.linkName ?? "").slice(0, 100), 157, "latin1");
  buffer.write("ustar\0" + "00", 257, "latin1");
  octal(header.major ?? 0, 329, 7);
  octal(header.minor ?? 0, 337, 7);
  buffer.fill(0x20, 148, 156);
  octal(
    buffer.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  buffer[154] = 0;
  return buffer;
}
