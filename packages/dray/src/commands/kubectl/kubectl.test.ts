import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table } from "@dray/api/meta/v1";
import { kindByApiVersion, kindByName } from "../../manifests/kinds.ts";
import { parseArguments } from "./arguments.ts";
import { printTable } from "./print-table.ts";

test("arguments: flags may stand anywhere, in each of their forms", () => {
  for (const line of [
    "get pods -n there -l a=b -o yaml one",
    "-n=there get --selector a=b pods --output=yaml one",
    "--namespace=there get pods one -l=a=b -o=yaml",
  ]) {
    const { verb, positional, flags } = parseArguments(line.split(" "));
    assert.equal(verb, "get", line);
    assert.deepEqual(positional, ["pods", "one"], line);
    assert.deepEqual(
      Object.fromEntries(flags),
      { "--namespace": "there", "--selector": "a=b", "--output": "yaml" },
      line,
    );
  }
  assert.equal(parseArguments(["get", "pods", "-A"]).flags.get("--all-namespaces"), "true");
});

test("arguments: errors name the unknown or missing flag", () => {
  assert.throws(() => parseArguments(["get", "pods", "--watch"]), /unknown flag --watch/);
  assert.throws(() => parseArguments(["get", "pods", "-n"]), /flag -n needs a value/);
  assert.throws(() => parseArguments([]), /a verb is needed: apply, create, delete, get or logs/);
});

test("kinds: plural, singular, short and qualified names in any case mean the kind", () => {
  for (const name of ["pods", "pod", "po", "Pod"]) assert.equal(kindByName(name).kind, "Pod", name);
  for (const name of ["deviceclasses", "deviceclass", "deviceclasses.resource.k8s.io"])
    assert.equal(kindByName(name).kind, "DeviceClass", name);
  assert.equal(kindByName("resourceclaims").version, "v1");
  assert.throws(() => kindByName("frobs"), /doesn't have a resource type "frobs"/);
});

test("kinds: apiVersion and kind of a manifest must both match", () => {
  assert.equal(kindByApiVersion("v1", "Pod").resource, "pods");
  assert.equal(kindByApiVersion("resource.k8s.io/v1", "DeviceClass").resource, "deviceclasses");
  assert.throws(
    () => kindByApiVersion("resource.k8s.io/v9", "DeviceClass"),
    /no matches for kind "DeviceClass" in version "resource.k8s.io\/v9"/,
  );
});

const table = {
  kind: "Table",
  apiVersion: "meta.k8s.io/v1",
  columnDefinitions: [
    { name: "Name", type: "string", format: "name", description: "", priority: 0 },
    { name: "Age", type: "string", format: "", description: "", priority: 0 },
    { name: "Node", type: "string", format: "", description: "", priority: 1 },
  ],
  rows: [
    { cells: ["a", "1s", "n1"], object: { metadata: { namespace: "default" } } },
    { cells: ["longer", "10m", "n2"], object: { metadata: { namespace: "x" } } },
  ],
} as unknown as Table;

test("printTable: columns line up three blanks apart; some show only when asked for", () => {
  assert.equal(
    printTable(table, { wide: false, namespaces: false }),
    "NAME     AGE\na        1s\nlonger   10m\n",
  );
  assert.equal(
    printTable(table, { wide: true, namespaces: true }),
    [
      "NAMESPACE   NAME     AGE   NODE",
      "default     a        1s    n1",
      "x           longer   10m   n2",
      "",
    ].join("\n"),
  );
});
