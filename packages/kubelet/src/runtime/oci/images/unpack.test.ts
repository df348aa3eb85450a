import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { type LayerEntry, tarOf } from "../testing/image.ts";
import { DiskRoom } from "./disk-room.ts";
import { readInRoot, resolveInRoot } from "./in-root.ts";
import { LayerPaths } from "./layer-paths.ts";
import { readTar } from "./tar.ts";
import { type UnpackOptions, unpackLayer } from "./unpack.ts";

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

/** Room without an end. */
const room = { take: async (): Promise<void> => {} };

const unpack = (root: string, entries: readonly LayerEntry[]): Promise<void> =>
  unpackLayer(root, readTar(once(tarOf(entries))), { owners, room });

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
  await assert.rejects(
    unpackLayer(root, readTar(once(archive)), { owners, room }),
    /before the end of "huge"/,
  );
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

test("a layer that replaces its own files again and again takes time in proportion to its entries", async (t) => {
  const { root } = place(t);
  const count = 3000;
  const entries: LayerEntry[] = [];
  for (let i = 0; i < count; i++) entries.push({ name: `f${i}`, type: "file" });
  // Each file and each folder again, and an opaque folder again and again.
  for (let i = 0; i < count; i++)
    entries.push({ name: `f${i}`, type: "file" }, { name: ".wh..wh..opq", type: "file" });
  const removed: string[] = [];
  const remove = LayerPaths.prototype.remove;
  t.mock.method(LayerPaths.prototype, "remove", function (this: LayerPaths, path: readonly string[]) {
    removed.push(path.join("/"));
    remove.call(this, path);
  });
  const has = t.mock.method(LayerPaths.prototype, "has");
  await unpack(root, entries);
  assert.equal(removed.length, count);
  assert.equal(has.mock.callCount(), count, "the folder is looked through once");
  assert.equal(readdirSync(root).length, count);
});

test("a layer stops when its disk is nearly full, or when its pull is aborted", async (t) => {
  const { root } = place(t);
  const use = (free: number, freeFiles: number) => async () => ({
    bsize: 4096,
    blocks: 1_000_000,
    bavail: free,
    files: 1_000_000,
    ffree: freeFiles,
  });
  const layer = [{ name: "big", type: "file", content: "x".repeat(100_000) }] as const;
  const unpackWith = (options: Pick<UnpackOptions, "room" | "signal">): Promise<void> =>
    unpackLayer(root, readTar(once(tarOf(layer))), { owners, ...options });
  await assert.rejects(unpackWith({ room: new DiskRoom(root, use(10_000, 500_000)) }), {
    name: "DiskRoomError",
    message: `the disk of ${root} has 39 MiB left, and images leave 195 MiB free: remove images (dray image rm) or other files`,
  });
  await assert.rejects(
    unpackWith({ room: new DiskRoom(root, use(500_000, 900)) }),
    /has 900 files left, and images leave 10000 files/,
  );
  await unpackWith({ room: new DiskRoom(root, use(500_000, 500_000)) });
  await assert.rejects(
    unpackWith({ room, signal: AbortSignal.abort(new Error("the pod is gone")) }),
    /the pod is gone/,
  );
});

test("the room of a disk is looked at every 64 MiB, and every 10,000 files", async () => {
  let looks = 0;
  const room = new DiskRoom("/", async () => {
    looks++;
    return { bsize: 1, blocks: 100, bavail: 100, files: 0, ffree: 0 };
  });
  for (let i = 0; i < 64; i++) await room.take(2 ** 20);
  assert.equal(looks, 1);
  await room.take(2 ** 20);
  assert.equal(looks, 2);
  for (let i = 0; i < 10_000; i++) await room.take(0, 1);
  assert.equal(looks, 3);
});

test("paths that a layer has made", () => {
  const paths = new LayerPaths();
  const folder = { mode: 0o755, uid: 1, gid: 2, mtime: 3 };
  paths.add(["a"], folder);
  paths.add(["a", "b", "c"], { ...folder, mode: 0o700 });
  paths.add(["a", "b", "f"]);
  assert.deepEqual(
    [["a"], ["a", "b"], ["a", "b", "f"], ["a", "x"], ["x", "y"]].map((path) => paths.has(path)),
    [true, true, true, false, false],
  );
  assert.deepEqual(
    [...paths.folders()].map(([path, { mode }]) => [path.join("/"), mode]),
    [
      ["a/b/c", 0o700],
      ["a", 0o755],
    ],
  );
  paths.remove(["a", "b"]);
  paths.remove(["missing", "b"]);
  assert.equal(paths.has(["a", "b", "c"]), false);
  paths.add(["a"]);
  assert.deepEqual([...paths.folders()], []);
});
