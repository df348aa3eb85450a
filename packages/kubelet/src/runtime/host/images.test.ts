import assert from "node:assert/strict";
import { test } from "node:test";
import { anyRegistry, containerWords, type ImageMapping, ImageTable, programFolder } from "./images.ts";

test("an image of any registry is found, with a tag, a digest or neither, and none whose name only resembles it", () => {
  const rows = anyRegistry("busybox").map((pattern) => ({ pattern, entrypoint: [], cmd: ["sh"] }));
  const table = new ImageTable(rows);
  const digest = `sha256:${"0".repeat(64)}`;
  for (const image of [
    "busybox",
    "busybox:1.36",
    "docker.io/library/busybox:1.36",
    "registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
    "localhost:5000/busybox",
    `busybox@${digest}`,
    `docker.io/library/busybox:1.36@${digest}`,
  ])
    assert.deepEqual(table.find(image)?.pattern !== undefined, true, image);
  for (const image of ["mybusybox", "busybox-extras:1", "busybox/tool:1", "example.com/busybox/tool"])
    assert.equal(table.find(image), undefined, image);
});

test("the table is asked at each look, and the first row that matches counts", () => {
  let rows: ImageMapping[] = [{ pattern: "a*", command: ["1"] }];
  const table = new ImageTable(() => rows);
  assert.deepEqual(table.find("ab"), rows[0]);
  rows = [{ pattern: "ab", command: ["2"] }, ...rows];
  assert.deepEqual(table.find("ab"), rows[0]);
});

test("the words of a container are those of Kubernetes' table of command and args", () => {
  const image = { entrypoint: ["entry", "1"], cmd: ["cmd"] };
  for (const [command, args, words] of [
    [[], [], ["entry", "1", "cmd"]],
    [["own"], [], ["own"]],
    [[], ["a"], ["entry", "1", "a"]],
    [["own"], ["a"], ["own", "a"]],
  ])
    assert.deepEqual(containerWords(image, { command: command!, args: args! }), words);
  assert.deepEqual(containerWords({ command: ["x"] }, { command: ["own"], args: ["a"] }), ["x", "a"]);
  assert.deepEqual(containerWords(undefined, { command: ["own"], args: ["a"] }), ["own", "a"]);
  assert.deepEqual(containerWords({ command: ["/x/"] }, { command: ["own"], args: ["a"] }), ["own", "a"]);
});

test("a mapping to a folder is one path that ends with a slash", () => {
  for (const [command, folder] of [
    [["/opt/driver/"], "/opt/driver"],
    [["/opt/../srv/"], "/srv"],
    [["/opt/driver"], undefined],
    [["driver/"], undefined],
    [["/opt/driver/", "--flag"], undefined],
    [["/"], undefined],
  ] as const)
    assert.equal(programFolder({ command }), folder, command.join(" "));
});

test("an image without a row needs a command, and what to do is said", async () => {
  const table = new ImageTable([]);
  assert.equal(await table.imageStatus("a", false), undefined);
  assert.equal((await table.imageStatus("a", true))?.ref, "host://a");
  const folder = new ImageTable([{ pattern: "a", command: ["/opt/driver/"] }]);
  assert.equal(await folder.imageStatus("a", false), undefined);
  assert.equal((await folder.imageStatus("a", true))?.ref, "host://a");
  await assert.rejects(table.pullImage("a"), {
    reason: "ErrImageNeverPull",
    message: /"a" is not pulled .*give the container a command, or .*`dray image map 'a' COMMAND`/,
  });
  await assert.rejects(table.imageStatus("a b", true), { reason: "InvalidImageName" });
});
