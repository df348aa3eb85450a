import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { tarOf } from "../testing/image.ts";
import { readTar, type TarEntry, TarError } from "./tar.ts";
import { tarHeader } from "./tar-write.ts";

async function* pieces(data: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

async function read(data: Buffer, size = 997): Promise<(Omit<TarEntry, "content"> & { text: string })[]> {
  const found = [];
  for await (const { content, ...entry } of readTar(pieces(data, size))) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    found.push({ ...entry, text: Buffer.concat(parts).toString("latin1") });
  }
  return found;
}

test("archives of GNU tar in its formats are read as they were written", async (t) => {
  const folder = temporaryFolder(t);
  const long = `${"d".repeat(120)}/${"f".repeat(150)}`;
  mkdirSync(join(folder, "in", "d".repeat(120)), { recursive: true });
  writeFileSync(join(folder, "in", long), "long name");
  writeFileSync(join(folder, "in", "big"), Buffer.alloc(70_000, "x"));
  writeFileSync(join(folder, "in", "grüße"), "");
  symlinkSync("t".repeat(130), join(folder, "in", "link"));
  chmodSync(join(folder, "in", "big"), 0o4751);
  utimesSync(join(folder, "in", "big"), 1234567, 1234567);
  for (const format of ["gnu", "pax", "oldgnu"]) {
    const archive = join(folder, `${format}.tar`);
    const made = spawnSync("tar", [
      `--format=${format}`,
      "--sort=name",
      "-C",
      join(folder, "in"),
      "-cf",
      archive,
      ".",
    ]);
    assert.equal(made.status, 0, String(made.stderr));
    const entries = new Map((await read(readFileSync(archive))).map((entry) => [entry.name, entry]));
    assert.equal(entries.get(`./${long}`)?.text, "long name", format);
    const big = entries.get("./big");
    assert.equal(big?.text.length, 70_000);
    assert.equal(big?.mode, 0o4751);
    assert.equal(Math.floor(big?.mtime ?? 0), 1234567);
    assert.equal(entries.get("./link")?.linkName, "t".repeat(130));
    assert.equal(
      Buffer.from([...entries.keys()].find((name) => name.includes("gr")) ?? "", "latin1").toString(),
      "./grüße",
    );
    assert.equal(entries.get("./")?.type, "directory");
  }
});

test("extended attributes are bytes", async () => {
  const capability = Buffer.from("0100000200200000000000000000000000000000", "hex");
  const [entry] = await read(
    tarOf([
      { name: "ping", type: "file", content: "x", xattrs: new Map([["security.capability", capability]]) },
    ]),
  );
  assert.deepEqual(entry?.xattrs.get("security.capability"), capability);
  assert.equal(entry?.text, "x");
});

test("unread content is skipped", async () => {
  const names = [];
  const archive = tarOf(["a", "b", "c"].map((name) => ({ name, type: "file", content: name.repeat(2000) })));
  for await (const { name } of readTar(pieces(archive, 100))) names.push(name);
  assert.deepEqual(names, ["a", "b", "c"]);
});

test("a damaged archive is an error with the cause", async () => {
  const whole = tarOf([{ name: "a", type: "file", content: "x".repeat(1000) }]);
  const patched = (at: number, text: string): Buffer => {
    const block = Buffer.from(tarHeader({ name: "a", type: "file", size: 10 }));
    block.write(text, at, "latin1");
    block.fill(0x20, 148, 156);
    block.write(
      block
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0"),
      148,
      "latin1",
    );
    return Buffer.concat([block, Buffer.alloc(1024)]);
  };
  const huge = Buffer.from(tarHeader({ name: "a", type: "file" }));
  const table: readonly (readonly [string, Buffer, RegExp])[] = [
    ["no archive", Buffer.alloc(2048, "x"), /checksum/],
    ["cut within a header", whole.subarray(0, 300), /ends within a header/],
    ["cut within a file", whole.subarray(0, 900), /ends 612 bytes before the end of "a"/],
    ["no octal size", patched(124, "99999999999"), /not octal/],
    [
      "negative size",
      patched(124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf0"),
      /size -16 is not possible/,
    ],
    ["size beyond numbers", patched(124, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), /not possible/],
    ["sparse file of GNU", patched(156, "S"), /type "S" is not supported/],
    ["large extended header", patched(156, "x").fill("7", 124, 135), /checksum|at most/],
  ];
  assert.ok(huge.length === 512);
  for (const [what, data, problem] of table)
    await assert.rejects(
      read(data),
      (error) => error instanceof TarError && problem.test(error.message),
      what,
    );
});
