import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { type LayerEntry, tarOf } from "../testing/image.ts";
import { readInRoot, resolveInRoot } from "./in-root.ts";
import { readTar } from "./tar.ts";
import { unpackLayer } from "./unpack.ts";

const owners = process.getuid?.() === 0;

/** A root, and a file outside of it that must not change. */
function place(t: TestContext): { root: string; secret: string } {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "root"));
  const secret = join(folder, "secret");
  writeFileSync(secret, "secret");
  return { root: join(folder, "root"), secret };
}

async function* once(data: Buffer): AsyncGenerator<Buffer> {
  yield data;
}

const unpack = (root: string, entries: readonly LayerEntry[]): Promise<void> =>
  unpackLayer(root, readTar(once(tarOf(entries))), { owners });

function tree(root: string, below = ""): string[] {
  return readdirSync(join(root, below)).flatMap((name) => {
    const path = join(below, name);
    return lstatSync(join(root, path)).isDirectory() ? [`${path}/`, ...tree(root, path)] : [path];
  });
}

test("no layer gets out of its root", async (t) => {
  const { root, secret } = place(t);
  const outside = join(root, "..");
  const before = readdirSync(outside).sort();
  const file = (name: string): LayerEntry => ({ name, type: "file", content: "evil" });
  const to = (name: string, linkName: string, type: "symlink" | "link" = "symlink"): LayerEntry => ({
    name,
    type,
    linkName,
  });
  const layers: readonly (readonly [string, readonly LayerEntry[], RegExp | undefined])[] = [
    ["parent in a name", [file("../evil")], /leads out/],
    ["parent within a name", [file("a/../../evil")], /leads out/],
    ["absolute name", [file("/evil")], undefined],
    ["through an absolute link", [to("l", outside), file("l/evil")], undefined],
    ["through a relative link", [to("m", "../../../.."), file("m/tmp/evil")], undefined],
    ["over a link", [to("s", secret), file("s")], undefined],
    ["over a relative link", [to("r", "../secret"), file("r")], undefined],
    ["folder over a link", [to("f", outside), { name: "f", type: "directory" }, file("f/evil")], undefined],
    ["hard link to the outside", [to("h", "../secret", "link")], /leads out/],
    ["hard link by an absolute path", [to("h2", secret, "link")], /not in the image|does not have/],
    [
      "hard link through a link",
      [to("p", outside), to("h3", "p/secret", "link")],
      /does not have|not in the image/,
    ],
    ["whiteout of the parent", [file(".wh...")], /names no file/],
    ["whiteout in the parent", [file("../.wh.secret")], /leads out/],
    ["whiteout through a link", [to("w", outside), file("w/.wh.secret")], undefined],
    ["opaque through a link", [to("o", outside), file("o/.wh..wh..opq")], undefined],
    ["links in a circle", [to("c", "d"), to("d", "c"), file("c/evil")], /too many/],
    ["a file as a folder", [file("x"), file("x/y")], /not a folder/],
    [
      "overlay's mark",
      [{ name: "z", type: "character", major: 0, minor: 0 }],
      owners ? /overlayfs/ : undefined,
    ],
  ];
  for (const [what, entries, problem] of layers) {
    if (problem === undefined) await unpack(root, entries);
    else await assert.rejects(unpack(root, entries), problem, what);
    assert.deepEqual(readdirSync(outside).sort(), before, what);
    assert.equal(readFileSync(secret, "utf8"), "secret", what);
    assert.equal(lstatSync(secret).nlink, 1, what);
  }
  assert.equal(readFileSync(join(root, "evil"), "utf8"), "evil");
});

test("a header that promises more than there is costs nothing", async (t) => {
  const { root } = place(t);
  const archive = tarOf([{ name: "huge", type: "file", size: 8 * 2 ** 30 - 1, content: "little" }]);
  await assert.rejects(unpackLayer(root, readTar(once(archive)), { owners }), /before the end of "huge"/);
  assert.ok(lstatSync(join(root, "huge")).size < 10_000);
});

test("whiteouts and opaque folders hide what is below, not what the layer brings", async (t) => {
  const { root } = place(t);
  const file = (name: string): LayerEntry => ({ name, type: "file", content: name });
  await unpack(root, ["a", "d/old", "d/e/old", "gone/x", "k"].map(file));
  await unpack(root, [
    file("d/new"),
    file("d/e/new"),
    file("d/.wh..wh..opq"),
    file(".wh.gone"),
    file(".wh.never"),
    file("d/later"),
    file(".wh.k"),
    file("k"),
  ]);
  assert.deepEqual(tree(root).sort(), ["a", "d/", "d/e/", "d/e/new", "d/later", "d/new", "k"]);
});

test("modes, times, owners and links are those of the layer", async (t) => {
  const { root } = place(t);
  await unpack(root, [
    { name: "./", type: "directory", mode: 0o755 },
    { name: "d", type: "directory", mode: 0o1777, mtime: 1000 },
    { name: "d/f", type: "file", content: "one", mode: 0o4755, uid: 12, gid: 34, mtime: 2000 },
    { name: "d/h", type: "link", linkName: "d/f" },
    { name: "d/s", type: "symlink", linkName: "f", mtime: 3000 },
    { name: "p", type: "fifo", mode: 0o600 },
    { name: "n", type: "character", major: 1, minor: 3, mode: 0o666 },
    { name: "bin", type: "symlink", linkName: "usr/bin" },
    { name: "usr/bin", type: "directory" },
  ]);
  const of = (name: string) => lstatSync(join(root, name));
  assert.equal(of("d").mode & 0o7777, 0o1777);
  assert.equal(of("d").mtimeMs, 1_000_000);
  assert.equal(of("d/f").mode & 0o7777, 0o4755);
  assert.equal(of("d/f").mtimeMs, 2_000_000);
  assert.equal(of("d/h").ino, of("d/f").ino);
  assert.equal(of("d/s").mtimeMs, 3_000_000);
  if (owners) {
    assert.deepEqual([of("d/f").uid, of("d/f").gid], [12, 34]);
    assert.ok(of("p").isFIFO());
    assert.ok(of("n").isCharacterDevice());
    assert.equal(of("n").rdev, 0x103);
  }
  // A replaced file is a new one: other snapshots may share the old one.
  const before = of("d/f").ino;
  await unpack(root, [
    { name: "d/f", type: "file", content: "two" },
    { name: "bin/tool", type: "file", content: "tool" },
  ]);
  assert.notEqual(of("d/f").ino, before);
  assert.equal(readFileSync(join(root, "d/h"), "utf8"), "one");
  assert.equal(readFileSync(join(root, "usr/bin/tool"), "utf8"), "tool");
});

test("names that are not UTF-8 stay what they are", async (t) => {
  const { root } = place(t);
  await unpack(root, [{ name: "caf\xe9", type: "file", content: "x" }]);
  assert.deepEqual(
    readdirSync(Buffer.from(root), "buffer").map((name) => name.toString("hex")),
    ["636166e9"],
  );
});

test("file capabilities are set", async (t) => {
  if (!owners || !existsSync("/usr/sbin/getcap")) return t.skip("oci: needs root and getcap of libcap2-bin");
  const { root } = place(t);
  const capability = Buffer.from("0100000200200000000000000000000000000000", "hex");
  await unpack(root, [
    {
      name: "ping",
      type: "file",
      content: "program",
      mode: 0o755,
      xattrs: new Map([
        ["security.capability", capability],
        ["trusted.overlay.opaque", Buffer.from("y")],
      ]),
    },
  ]);
  assert.equal(readFileSync(join(root, "ping"), "utf8"), "program");
  assert.match(
    execFileSync("/usr/sbin/getcap", [join(root, "ping")], { encoding: "utf8" }),
    /cap_net_raw=ep/,
  );
});

test("paths in a root are resolved as a process in it would", async (t) => {
  const { root } = place(t);
  await unpack(root, [
    { name: "etc", type: "symlink", linkName: "/real/etc" },
    { name: "real/etc/passwd", type: "symlink", linkName: "../../../../../users" },
    { name: "users", type: "file", content: "root:x:0:0" },
    { name: "loop", type: "symlink", linkName: "loop" },
  ]);
  assert.equal(await resolveInRoot(root, "/etc/passwd"), join(root, "users"));
  assert.equal(await readInRoot(root, "/etc/passwd", 100), "root:x:0:0");
  assert.equal(await readInRoot(root, "/etc/group", 100), undefined);
  assert.equal(await resolveInRoot(root, "../../x"), join(root, "x"));
  await assert.rejects(readInRoot(root, "/users", 5), /at most 5/);
  await assert.rejects(resolveInRoot(root, "/loop"), /too many/);
});
