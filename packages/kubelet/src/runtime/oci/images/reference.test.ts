import assert from "node:assert/strict";
import { test } from "node:test";
import { formatReference, InvalidReferenceError, parseReference, repositoryOf } from "./reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

test("references get the defaults of Docker Hub", () => {
  const table: readonly (readonly [string, string])[] = [
    ["busybox", "docker.io/library/busybox:latest"],
    ["busybox:1.36", "docker.io/library/busybox:1.36"],
    ["a/b", "docker.io/a/b:latest"],
    ["docker.io/busybox", "docker.io/library/busybox:latest"],
    ["index.docker.io/busybox", "docker.io/library/busybox:latest"],
    ["localhost/a", "localhost/a:latest"],
    ["localhost:5000/a/b:v1", "localhost:5000/a/b:v1"],
    ["registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"],
    ["Host/a", "Host/a:latest"],
    ["[::1]:5000/a", "[::1]:5000/a:latest"],
    [`a@${digest}`, `docker.io/library/a@${digest}`],
    [`example.com/a:v1@${digest}`, `example.com/a@${digest}`],
    ["a__b/c-d.e", "docker.io/a__b/c-d.e:latest"],
    ["a:5000", "docker.io/library/a:5000"],
  ];
  for (const [text, whole] of table) assert.equal(formatReference(parseReference(text)), whole, text);
  assert.equal(repositoryOf(parseReference("x/y:z")), "docker.io/x/y");
});

test("an invalid reference is an error that names the invalid part", () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ["", /empty/],
    ["a".repeat(64), /image ID/],
    ["Busybox", /lower-case/],
    ["a:", /tag ""/],
    ["a:b:c", /tag "b:c"/],
    ["a@sha256:12", /digest "sha256:12"/],
    ["a@md5:12", /digest/],
    ["a//b", /path/],
    ["a/../b", /path/],
    ["../a", /host name/],
    ["a b", /path/],
    ["-a", /path/],
    ["exam ple.com/a", /host name/],
    [`a/${"b".repeat(300)}`, /255/],
    [`a:${"b".repeat(129)}`, /tag/],
  ];
  for (const [text, problem] of table)
    assert.throws(
      () => parseReference(text),
      (error) => error instanceof InvalidReferenceError && problem.test(error.message),
      text,
    );
});
