import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeAs } from "./decode.ts";

test("known parts are copied without decoding, but only in their own field", () => {
  const known = {
    metadata: { name: "a", labels: Object.freeze({ a: "b" }) },
    data: Object.freeze({ k: "v" }),
  };
  const copied = decodeAs(
    { ...known, metadata: { ...known.metadata, name: "c" } },
    "core/v1.ConfigMap",
    undefined,
    { stored: true, known },
  );
  const { metadata, data } = copied.object as { metadata: { name: string; labels: object }; data: object };
  assert.deepEqual([metadata.name, metadata.labels, data], ["c", { a: "b" }, { k: "v" }]);
  assert.notEqual(data, known.data, "it may be changed");
  assert.ok(!Object.isFrozen(data) && !Object.isFrozen(metadata.labels));

  const metadataAsData = { metadata: { name: "a" }, data: known.metadata };
  assert.throws(
    () => decodeAs(metadataAsData, "core/v1.ConfigMap", undefined, { stored: true, known }),
    /cannot unmarshal object/,
  );
  // Not read: a patch of a large object is cheap for that reason.
  const odd = Object.freeze({ k: 1 });
  assert.deepEqual(
    decodeAs({ data: odd }, "core/v1.ConfigMap", undefined, { stored: true, known: { data: odd } }).object[
      "data"
    ],
    { k: 1 },
  );
});
