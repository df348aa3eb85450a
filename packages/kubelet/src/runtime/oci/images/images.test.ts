import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { dockerArchive, layoutFiles, tarOf, tarOfFiles, testImage, writeFiles } from "../testing/image.ts";
import { testRegistry } from "../testing/registry.ts";
import { blobsOf, file, folder, open } from "../testing/store.ts";
import { OciImages } from "./service.ts";
import type { SnapshotMode } from "./snapshots.ts";

const root = process.getuid?.() === 0;

test("archives and layouts are loaded, whatever their kind and compression", async (t) => {
  const at = folder(t);
  const plain = testImage([[file("a")], [file("b")]], { User: "12:34", Cmd: ["/a"] }, "none");
  const zstd = testImage([[file("z")]], { User: "nobody" }, "zstd");
  const named = { "org.opencontainers.image.ref.name": "example.com/z:v1" };
  writeFileSync(join(at, "docker.tar"), dockerArchive(plain, ["busy:1", "other/busy:2"]));
  writeFileSync(join(at, "docker.tar.gz"), gzipSync(dockerArchive(plain, null)));
  writeFileSync(join(at, "oci.tar"), tarOfFiles(layoutFiles([{ image: zstd, annotations: named }])));
  const other = testImage([[file("a")], [file("c")]]);
  writeFiles(
    join(at, "layout"),
    layoutFiles([{ image: other, annotations: { "org.opencontainers.image.ref.name": "v3" } }]),
  );
  const store = join(at, "store");
  const images = await open(t, store);
  const [docker] = await images.importImages(join(at, "docker.tar"));
  assert.deepEqual(docker?.references, ["docker.io/library/busy:1", "docker.io/other/busy:2"]);
  const [again] = await images.importImages(join(at, "docker.tar.gz"));
  assert.deepEqual(again, { digest: docker.digest, references: [] });
  const [oci] = await images.importImages(join(at, "oci.tar"));
  assert.deepEqual(oci, { digest: zstd.digest, references: ["example.com/z:v1"] });
  const [layout] = await images.importImages(join(at, "layout"), { name: "example.com/plain" });
  assert.deepEqual(layout?.references, ["example.com/plain:v3"]);

  const busy = await images.imageStatus("busy:1");
  assert.equal(busy?.user, 12);
  assert.deepEqual(busy?.tags, ["docker.io/library/busy:1", "docker.io/other/busy:2"]);
  assert.equal(busy?.ref, docker.digest);
  assert.equal((await images.imageStatus("example.com/z:v1"))?.user, "nobody");
  assert.equal(await images.imageStatus("busy:3"), undefined);
  const resolved = await images.resolve("busy:1");
  assert.deepEqual(resolved.config.cmd, ["/a"]);
  await assert.rejects(images.resolve("nothing"), /not on this node/);
  await assert.rejects(images.imageStatus("Nothing"), { reason: "InvalidImageName" });

  // Both names refer to one image, and are removed together; blobs that others use stay.
  await images.removeImage("busy:1");
  await images.removeImage("busy:1");
  assert.equal(await images.imageStatus("other/busy:2"), undefined);
  assert.equal((await images.listImages()).length, 2);
  await images.removeImage("example.com/plain:v3");
  await images.removeImage(zstd.digest);
  assert.deepEqual(blobsOf(store), []);
});

test("a rebuilt image takes the name of the old one, which goes with its last name", async (t) => {
  const at = folder(t);
  const [first, second] = [testImage([[file("a")]]), testImage([[file("b")]])];
  const archive = (name: string, content: Buffer): string => {
    writeFileSync(join(at, name), content);
    return join(at, name);
  };
  const store = join(at, "store");
  const images = await open(t, store);
  const names = async (): Promise<(readonly string[])[]> =>
    (await images.listImages()).map(({ tags }) => tags);
  await images.importImages(archive("1.tar", dockerArchive(first, ["app:1", "app:old"])));
  const [rebuilt] = await images.importImages(archive("2.tar", dockerArchive(second, ["app:1"])));
  assert.deepEqual(await names(), [["docker.io/library/app:old"], ["docker.io/library/app:1"]]);
  await images.importImages(archive("3.tar", dockerArchive(second, ["app:old"])));
  assert.deepEqual(await names(), [["docker.io/library/app:1", "docker.io/library/app:old"]]);

  assert.deepEqual(await images.removeName("app:1"), ["docker.io/library/app:1"]);
  assert.deepEqual(await names(), [["docker.io/library/app:old"]]);
  assert.equal(await images.removeName("app:1"), undefined);
  assert.equal((await images.removeName(rebuilt!.digest))?.length, 2);
  assert.deepEqual(blobsOf(store), []);
  // An image that came without a name is known by its digest.
  const [nameless] = await images.importImages(archive("4.tar", dockerArchive(first, null)));
  assert.deepEqual(await names(), [[]]);
  assert.deepEqual(await images.removeName(nameless!.digest), [nameless!.digest]);
  assert.deepEqual(await names(), []);
});

test("an image of another platform is refused with those that there are", async (t) => {
  const at = folder(t);
  const foreign = testImage([[file("a")]]);
  writeFiles(
    join(at, "layout"),
    layoutFiles([
      { image: foreign, platform: { os: "linux", architecture: "s390x" } },
      { image: foreign, platform: { os: "plan9", architecture: "386" } },
    ]),
  );
  const images = await open(t, join(at, "store"));
  await assert.rejects(
    images.importImages(join(at, "layout")),
    /no match for platform linux\/.*linux\/s390x, plan9\/386/,
  );
});

test("an archive that cannot be loaded is an error with its path, and leaves nothing", async (t) => {
  const at = folder(t);
  const image = testImage([[file("a")]]);
  const files = new Map(layoutFiles([{ image }]));
  const damaged = new Map(files);
  const [layer] = image.blobs.keys();
  damaged.set(`blobs/sha256/${layer!.slice(7)}`, Buffer.from("other"));
  const short = new Map(files);
  short.delete(`blobs/sha256/${layer!.slice(7)}`);
  const table: readonly (readonly [string, Buffer | ReadonlyMap<string, Buffer>, RegExp])[] = [
    ["text.tar", Buffer.from("no archive at all"), /ends within a header/],
    ["empty.tar", tarOf([]), /neither index.json \(OCI layout\) nor manifest.json/],
    ["damaged.tar", tarOfFiles(damaged), /is damaged: its digest is sha256:/],
    ["short.tar", tarOfFiles(short), /blob sha256:\w+ is missing/],
    ["damaged", damaged, /ended after 5 of \d+ bytes/],
    ["short", short, /no such file/],
    ["no-list.tar", tarOf([file("manifest.json", "{}")]), /not a list/],
    ["no-json.tar", tarOf([file("manifest.json", "{")]), /not JSON/],
    [
      "missing.tar",
      tarOf([file("manifest.json", '[{"Config":"../../etc/passwd","Layers":[]}]')]),
      /names "..\/..\/etc\/passwd", which is missing/,
    ],
    ["cut.tar.gz", gzipSync(tarOfFiles(files)).subarray(0, 200), /unexpected end of file/],
  ];
  const store = join(at, "store");
  const images = await open(t, store);
  for (const [name, content, problem] of table) {
    const path = join(at, name);
    if (content instanceof Map) writeFiles(path, content);
    else writeFileSync(path, content as Buffer);
    await assert.rejects(images.importImages(path), (error: Error) => {
      assert.match(error.message, problem, name);
      assert.ok(error.message.includes(path), error.message);
      return true;
    });
  }
  await assert.rejects(images.importImages(join(at, "nothing")), /no such file/);
  assert.deepEqual(await images.listImages(), []);
  await images.collect();
  assert.deepEqual(blobsOf(store), []);
});

/** With overlay if the kernel supports it. */
async function modes(at: string): Promise<SnapshotMode[]> {
  const images = await OciImages.open({ directory: join(at, "probe"), now: Date.now });
  const { mode } = images.snapshots;
  images.close();
  return mode === "overlay" ? ["overlay", "copy"] : ["copy"];
}

test("containers get roots of their own on shared layers", async (t) => {
  if (!root) return t.skip("oci: needs root");
  const at = folder(t);
  const image = testImage([
    [file("a", "lower"), file("d/one"), file("gone"), { name: "l", type: "symlink", linkName: "a" }],
    [
      file("a", "upper"),
      file("d/two"),
      { name: ".wh.gone", type: "file" },
      { name: "h", type: "link", linkName: "d/one" },
    ],
    [file("d/.wh..wh..opq", ""), file("d/three")],
  ]);
  writeFileSync(
    join(at, "image.tar"),
    tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": "a/b:c" } }])),
  );
  for (const mode of await modes(at)) {
    const store = join(at, mode);
    const images = await open(t, store, { snapshots: mode });
    await images.importImages(join(at, "image.tar"));
    const resolved = await images.resolve("a/b:c");
    mkdirSync(join(at, `${mode}-1`));
    mkdirSync(join(at, `${mode}-2`));
    const [first, second] = await Promise.all([
      images.snapshots.makeRoot("one", join(at, `${mode}-1`), resolved),
      images.snapshots.makeRoot("two", join(at, `${mode}-2`), resolved),
    ]);
    assert.deepEqual(readdirSync(first).sort(), ["a", "d", "h", "l"], mode);
    assert.deepEqual(readdirSync(join(first, "d")), ["three"], mode);
    assert.equal(readFileSync(join(first, "h"), "utf8"), "d/one");
    writeFileSync(join(first, "a"), "written");
    rmSync(join(first, "h"));
    assert.equal(readFileSync(join(second, "a"), "utf8"), "upper", mode);
    assert.ok(existsSync(join(second, "h")));
    assert.equal(readdirSync(join(store, "snapshots")).length, 3, mode);
    // Layers of a running container stay when the image is removed.
    await images.removeImage("a/b:c");
    assert.equal(readFileSync(join(second, "a"), "utf8"), "upper", mode);
    await images.snapshots.removeRoot("one");
    await images.snapshots.removeRoot("one");
    assert.ok(!existsSync(first));
    // The folder of the second container is gone, so no agent will adopt it.
    rmSync(join(at, `${mode}-2`), { recursive: true });
    await images.collect();
    assert.deepEqual(readdirSync(join(store, "roots")), [], mode);
    assert.deepEqual(readdirSync(join(store, "snapshots")), [], mode);
    assert.ok(!readFileSync("/proc/mounts", "utf8").includes(store), mode);
  }
});

test("a layer that cannot be unpacked is an error and leaves no snapshot", async (t) => {
  if (!root) return t.skip("oci: needs root");
  const at = folder(t);
  const evil = testImage([[file("ok")], [{ name: "x", type: "link", linkName: "../../etc/shadow" }]]);
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(evil, "evil");
  const store = join(at, "store");
  const images = await open(t, store);
  await assert.rejects(
    images.pullImage(`${registry.host}/a:evil`, []),
    (error: Error & { reason?: string }) =>
      error.reason === "ErrImagePull" &&
      /cannot unpack layer sha256:\w+: "..\/..\/etc\/shadow" leads out/.test(error.message),
  );
  const lying = testImage([[file("ok")]]);
  const other = JSON.stringify({ ...JSON.parse(lying.configText), rootfs: { diff_ids: [evil.diffIds[1]] } });
  writeFileSync(
    join(at, "lying.tar"),
    tarOf([
      file("c.json", other),
      { name: "l.tar", type: "file", content: lying.layers[0]! },
      file("manifest.json", JSON.stringify([{ Config: "c.json", RepoTags: ["lying:1"], Layers: ["l.tar"] }])),
    ]),
  );
  await images.importImages(join(at, "lying.tar"));
  mkdirSync(join(at, "bundle"));
  await assert.rejects(
    images.snapshots.makeRoot("c", join(at, "bundle"), await images.resolve("lying:1")),
    /unpacks to sha256:\w+, and its image names/,
  );
  await images.removeImage("lying:1");
  assert.deepEqual(readdirSync(join(store, "snapshots")), []);
  assert.deepEqual(blobsOf(store), []);
});

test("several processes share one store", async (t) => {
  const at = folder(t);
  const shared = [file("shared", "s".repeat(50_000))];
  const archives = Array.from({ length: 4 }, (_, i) => {
    const image = testImage([shared, [file(`own-${i}`)]]);
    const path = join(at, `${i}.tar`);
    writeFileSync(
      path,
      tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": `image-${i}` } }])),
    );
    return path;
  });
  const store = join(at, "store");
  const script = `
    import { OciImages } from ${JSON.stringify(import.meta.resolve("./service.ts"))};
    const [path, name] = process.argv.slice(1);
    const images = await OciImages.open({ directory: ${JSON.stringify(store)}, now: Date.now });
    for (let n = 0; n < 10; n++) {
      await images.importImages(path);
      if (process.getuid() === 0) await images.snapshots.prepare(await images.resolve(name));
      if (n < 9) await images.removeImage(name);
    }
    images.close();`;
  const children = archives.map((path, i) =>
    spawn(
      process.execPath,
      [
        "--conditions=dray-source",
        "--disable-warning=ExperimentalWarning",
        "--input-type=module",
        "-e",
        script,
        path,
        `image-${i}`,
      ],
      {
        stdio: ["ignore", "inherit", "inherit"],
      },
    ),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  assert.deepEqual(codes, [0, 0, 0, 0]);
  const images = await open(t, store);
  assert.equal((await images.listImages()).length, 4);
  await images.collect();
  // Four manifests, configurations and own layers, and the layer that all of them share.
  assert.equal(blobsOf(store).length, 13);
  if (root) assert.equal(readdirSync(join(store, "snapshots")).length, 5);
  for (const name of blobsOf(store)) {
    const [found = ""] = execFileSync("sha256sum", [join(store, "blobs/sha256", name)], {
      encoding: "utf8",
    }).split(" ");
    assert.equal(found, name);
    assert.ok(lstatSync(join(store, "blobs/sha256", name)).isFile());
  }
});

test("images are marked as used by containers of any agent, and as not fetchable", async (t) => {
  const at = folder(t);
  const registry = await testRegistry();
  t.after(() => registry.close());
  registry.push(testImage([[file("a")]]), "a");
  const image = testImage([[file("b")]]);
  writeFileSync(
    join(at, "image.tar"),
    tarOfFiles(layoutFiles([{ image, annotations: { "io.containerd.image.name": "example.com/b:1" } }])),
  );
  const store = join(at, "store");
  const images = await open(t, store, { snapshots: "copy" });
  const pulled = await images.pullImage(`${registry.host}/a:a`, []);
  await images.importImages(join(at, "image.tar"));
  const listed = await images.listImages();
  assert.deepEqual(
    listed.map(({ ref, pinned }) => [ref === pulled, pinned]),
    [
      [true, false],
      [false, true],
    ],
  );
  const other = await open(t, store, { snapshots: "copy" });
  assert.deepEqual([...(await images.usedImages())], []);
  const bundle = join(at, "bundle");
  mkdirSync(bundle);
  await other.snapshots.makeRoot("one", bundle, await other.resolve(pulled));
  assert.deepEqual([...(await images.usedImages())], [pulled]);
  rmSync(bundle, { recursive: true });
  assert.deepEqual([...(await images.usedImages())], [], "its container is gone");
  assert.equal(await images.imageFolder(), store);
});
