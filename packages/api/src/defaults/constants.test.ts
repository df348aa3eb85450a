import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "../objects/object.ts";
import { type FieldMarks, typeRows } from "../schema/table.ts";
import { type Field, type FieldType, StructType, structType } from "../schema/types.ts";
import { setConstantDefaults } from "./constants.ts";
import { setDefaults } from "./index.ts";

/** The object with its constant defaults, in 1.37. */
function filled(type: string, object: object, release = "1.37"): object {
  setConstantDefaults(structType(type), object, release);
  return object;
}

describe("setConstantDefaults", () => {
  test("fills in a pointer that is unset or null, and keeps a zero", () => {
    const spec = (replicas?: number | null) => filled("core/v1.ReplicationControllerSpec", { replicas });
    assert.deepEqual(spec(), { replicas: 1 });
    assert.deepEqual(spec(null), { replicas: 1 });
    assert.deepEqual(spec(0), { replicas: 0 });
  });

  test("fills in a value that is unset or zero", () => {
    assert.deepEqual(filled("core/v1.ServicePort", { port: 1 }), { port: 1, protocol: "TCP" });
    assert.deepEqual(filled("core/v1.ServicePort", { protocol: "" }), { protocol: "TCP" });
    assert.deepEqual(filled("core/v1.ServicePort", { protocol: "UDP" }), { protocol: "UDP" });
  });

  test("leaves a value alone whose default is its zero value", () => {
    assert.deepEqual(filled("core/v1.LocalObjectReference", {}), {});
  });

  test("sets a pointer to a struct anew for each object", () => {
    const [first, second] = [filled("scheduling/v1beta1.PodGroupSpec", {}), {}];
    filled("scheduling/v1beta1.PodGroupSpec", second);
    assert.deepEqual(
      [first, second],
      [{ disruptionMode: { single: {} } }, { disruptionMode: { single: {} } }],
    );
    assert.notEqual(Object.values(first)[0], Object.values(second)[0]);
  });

  test("reaches lists, inlined structs and pointers that are set", () => {
    const pod = {
      spec: {
        volumes: [{ name: "v", rbd: {} }, { name: "w", azureDisk: { readOnly: true } }, null],
        ephemeralContainers: [{ name: "e", ports: [{}], livenessProbe: { grpc: { service: null } } }],
        containers: [{ name: "c", env: [{ name: "X", valueFrom: { fileKeyRef: {} } }] }],
      },
    };
    assert.deepEqual(filled("core/v1.Pod", pod), {
      spec: {
        volumes: [
          { name: "v", rbd: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } },
          {
            name: "w",
            azureDisk: { cachingMode: "ReadWrite", fsType: "ext4", kind: "Shared", readOnly: true },
          },
          null,
        ],
        ephemeralContainers: [
          { name: "e", ports: [{ protocol: "TCP" }], livenessProbe: { grpc: { service: "" } } },
        ],
        containers: [{ name: "c", env: [{ name: "X", valueFrom: { fileKeyRef: { optional: false } } }] }],
      },
    });
  });

  test("creates a struct that has defaults, but no pointer to one", () => {
    assert.deepEqual(filled("certificates/v1.PodCertificateRequest", {}), {
      spec: { maxExpirationSeconds: 86400 },
    });
    assert.deepEqual(filled("core/v1.Pod", {}), {});
  });

  test("reaches a type that holds itself, and leaves out fields that the release lacks", () => {
    const tree = new Tree("example/v1.Tree", []);
    const object = { children: [{ size: 1, children: [{}] }] };
    setConstantDefaults(tree, object, "1.37");
    const leaf = { size: 3, since: "a" };
    assert.deepEqual(object, { ...leaf, children: [{ ...leaf, size: 1, children: [leaf] }] });
    const older = {};
    setConstantDefaults(tree, older, "1.36");
    assert.deepEqual(older, { size: 3 });
  });
});

/** A type that no group has. */
class Tree extends StructType {
  override get fields(): ReadonlyMap<string, Field> {
    return new Map([
      field("size", { default: "3" }, { form: "scalar", name: "int32" }),
      field("since", { default: '"a"', since: "1.37" }, { form: "scalar", name: "string" }),
      field("children", {}, { form: "list", element: { form: "struct", struct: this } }),
    ]);
  }
}

function field(name: string, marks: FieldMarks, type: FieldType): [string, Field] {
  return [name, { name, id: `example/v1.Tree.${name}`, embedded: [], number: 1, marks, type }];
}

test("every default of the table is JSON", () => {
  for (const [type, rows] of typeRows) {
    for (const [name, , , { default: text = "0" } = {}] of rows)
      assert.doesNotThrow(() => JSON.parse(text), `${type}.${name}`);
  }
});

test("setDefaults fills in the constant defaults of every version of a kind", () => {
  const tolerations = [{ key: "k" }];
  const defaulted = (version: string, spec: object) => {
    const claim = { apiVersion: "", kind: "", metadata: { name: "c" }, spec };
    const object = claim as unknown as KubeObject;
    const kind = { group: "resource.k8s.io", version, kind: "ResourceClaim" };
    setDefaults(kind, object, { now: "2026-01-01T00:00:00Z" });
    return claim.spec;
  };
  const equal = [{ key: "k", operator: "Equal" }];
  const subrequests = (given: object[]) => [{ name: "s", allocationMode: "All", tolerations: given }];
  for (const version of ["v1", "v1beta2", "v1beta1"]) {
    const spec = { devices: { requests: [{ name: "r", firstAvailable: subrequests(tolerations) }] } };
    assert.deepEqual(defaulted(version, structuredClone(spec)), {
      devices: { requests: [{ name: "r", firstAvailable: subrequests(equal) }] },
    });
  }
  // Without a class, v1beta1 fills in nothing but tolerations.
  assert.deepEqual(
    defaulted("v1beta1", {
      devices: { requests: [{ name: "r", tolerations: structuredClone(tolerations) }] },
    }),
    {
      devices: { requests: [{ name: "r", tolerations: equal }] },
    },
  );
});
